-- SPDX-License-Identifier: MIT
-- The header of a NEFF: 1024 bytes, little-endian, natural alignment, before a tar archive that is normally gzipped.
-- Source: neuron-runtime/explore/work-with-neff-files of the AWS Neuron SDK documentation (neff_header_t).
--
--   neff.read(path) -> { path=, size=, pkg_version=, major=, minor=, build=, tpb=, hash=hex, uuid=hex, name=, features=, lnc= } | nil, err
--   neff.parse(head, size) -> the same without path | nil, what is wrong
-- There is no magic number: the fields must agree with each other and with the file's size.

local fault <const> = require "fault"
local fs <const> = require "rt.fs"

local neff <const> = {}

neff.HEADER, neff.LIMIT = 1024, 2 << 30
local FORMAT <const> = "<I8I8I8I8I8c128I4c32c16c256I4c64I8I4"

local function text_of(bytes) return (bytes:match("^[^%z]*")) end
local function hex_of(bytes) return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end

-- head: the first 1536 bytes of the file, or all of a shorter one; size: of the whole file.
function neff.parse(head, size)
  if size == 0 then return nil, "the file is empty" end
  if size < neff.HEADER or #head < neff.HEADER then return nil, ("%d bytes are fewer than a NEFF's header of %d"):format(size, neff.HEADER) end
  local pkg <const>, header <const>, data <const>, major <const>, minor <const>, build <const>, tpb <const>, hash <const>, uuid <const>, name <const>, _, _,
    features <const>, lnc <const> = string.unpack(FORMAT, head)
  if header ~= neff.HEADER then return nil, "the header does not say that it has 1024 bytes" end
  if pkg ~= 1 and pkg ~= 2 then return nil, ("package version %d; 1 and 2 are known"):format(pkg) end
  if data ~= size - neff.HEADER then
    return nil, ("the header says %d bytes follow, the file has %d: it is truncated or still being written"):format(data, size - neff.HEADER)
  end
  local gzip <const> = head:sub(neff.HEADER + 1, neff.HEADER + 2) == "\x1f\x8b"
  local tar <const> = head:sub(neff.HEADER + 258, neff.HEADER + 262) == "ustar"
  if not gzip and not tar then return nil, "no tar archive follows the header" end
  return {
    size = size, pkg_version = pkg, major = major, minor = minor, build = text_of(build), tpb = tpb,
    -- A sha256 fills the field, an md5 half of it (pkg_version 2).
    hash = hex_of(pkg == 2 and hash:sub(1, 16) or hash), uuid = hex_of(uuid), name = text_of(name), features = features, lnc = lnc,
  }
end

function neff.read(path)
  local bytes <const>, err <const> = fs.read(path, neff.LIMIT)
  if not bytes then return nil, fault.new(err.code, "the NEFF cannot be read: " .. fault.why(err), { where = path }) end
  local parsed <const>, why <const> = neff.parse(bytes:sub(1, neff.HEADER + 512), #bytes)
  if not parsed then return nil, fault.new("bad-input", "this is no NEFF: " .. why, { where = path }) end
  parsed.path = path
  return parsed
end

return neff
