// SPDX-License-Identifier: MIT
// Parquet files of three independent writers, and what two independent readers say is in them.
//   node make.mjs FOLDER   writes FOLDER/*.parquet and FOLDER/expected.json:
//   { FILE: { reader, rows, columns: { NAME: [value, ...] } } }
// A value is null, "i" + decimal digits, "d" + 16 hexadecimal digits of a double ("dnan" for any NaN), "t" + hexadecimal
// bytes of a text, or an array of values.
import fs from 'node:fs'
import path from 'node:path'
import { asyncBufferFromFile, parquetRead, parquetMetadataAsync } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { parquetWriteBuffer } from 'hyparquet-writer'
import * as arrow from 'apache-arrow'
import wasm from 'parquet-wasm'
import { DuckDBInstance } from '@duckdb/node-api'

const folder = process.argv[2]
fs.mkdirSync(folder, { recursive: true })
const expected = {}
const file = (name) => path.join(folder, name)

// Values ------------------------------------------------------------------------------------------------------------

const bits = new DataView(new ArrayBuffer(8))
const double = (v) => {
  if (Number.isNaN(v)) return 'dnan'
  bits.setFloat64(0, v)
  return 'd' + bits.getBigUint64(0).toString(16).padStart(16, '0')
}
const text = (v) => 't' + Buffer.from(v).toString('hex')

const random = (() => { // the same numbers every time
  let s = 12345
  return () => (s = (Math.imul(s, 1103515245) + 12345) & 0x7fffffff) / 0x7fffffff
})()
const int = (n) => Math.floor(random() * n)
const list = (n, f) => Array.from({ length: n }, (_, i) => f(i))
const some = (f) => (i) => (i % 7 === 3 ? null : f(i))

// hyparquet-writer ---------------------------------------------------------------------------------------------------

function hyparquet(name, columnData, more = {}) {
  fs.writeFileSync(file(name), Buffer.from(parquetWriteBuffer({ columnData, ...more })))
}

const words = ['MATMUL', 'LDWEIGHTS', 'TENSOR_TENSOR', 'é ü 漢字', '', 'DMA_DIRECT2D']
const N = 1300
const big = list(N, some((i) => 2n ** 60n + BigInt(i * 7919)))

for (const encoding of ['PLAIN', 'DELTA_BINARY_PACKED', 'BYTE_STREAM_SPLIT'])
  for (const nullable of [true, false]) {
    const f = nullable ? some : (g) => g
    hyparquet(`hyp_int_${encoding}_${nullable ? 'optional' : 'required'}.parquet`, [
      { name: 'i32', type: 'INT32', data: list(N, f((i) => i * 37 - 40000)), encoding, nullable },
      { name: 'i64', type: 'INT64', data: list(N, f((i) => 2n ** 60n - BigInt(i * i) * 3n)), encoding, nullable },
      { name: 'edge', type: 'INT64', data: list(N, f((i) => [-(2n ** 63n), 2n ** 63n - 1n, 0n, -1n][i % 4])), encoding, nullable },
      { name: 'steps', type: 'INT32', data: list(N, f((i) => [2147483647, -2147483648, 0][i % 3])), encoding, nullable },
    ], { rowGroupSize: [1000, 200] })
  }
for (const encoding of ['PLAIN', 'BYTE_STREAM_SPLIT'])
  hyparquet(`hyp_float_${encoding}.parquet`, [
    { name: 'f32', type: 'FLOAT', data: list(N, some((i) => Math.fround(i / 3 - 100))), encoding },
    { name: 'f64', type: 'DOUBLE', data: list(N, some((i) => [NaN, Infinity, -Infinity, 0.1 * i, -0, 5e-324, 1e300][i % 7])), encoding },
  ])
for (const encoding of ['PLAIN', 'DELTA_LENGTH_BYTE_ARRAY', 'DELTA_BYTE_ARRAY', 'RLE_DICTIONARY'])
  hyparquet(`hyp_text_${encoding}.parquet`, [
    { name: 'word', type: 'STRING', data: list(N, some((i) => words[i % words.length])), ...(encoding === 'RLE_DICTIONARY' ? {} : { encoding }) },
    { name: 'line', type: 'STRING', data: list(N, (i) => `/home/user/kernels/matmul.py:${i >> 3}`), nullable: false,
      ...(encoding === 'RLE_DICTIONARY' ? {} : { encoding }) },
  ], { pageSize: 4000 })
hyparquet('hyp_bool.parquet', [
  { name: 'plain', type: 'BOOLEAN', data: list(N, some((i) => i % 3 === 0)) },
  { name: 'rle', type: 'BOOLEAN', data: list(N, some((i) => i % 1000 < 500)), encoding: 'RLE' },
  { name: 'required', type: 'BOOLEAN', data: list(N, (i) => i % 5 < 2), nullable: false },
])
hyparquet('hyp_half.parquet', [{ name: 'half', type: 'FLOAT16', data: list(N, some((i) => [0, -0, 1.5, 65504, -2, 6e-8, Infinity, NaN][i % 8])) }])
hyparquet('hyp_uuid.parquet', [{ name: 'uuid', type: 'UUID', data: list(40, some((i) => `00112233-4455-6677-8899-aabbccddee${String(i + 10)}`)) }])
hyparquet('hyp_groups.parquet', [
  { name: 'id', type: 'INT64', data: list(5000, (i) => BigInt(i)) }, { name: 's', type: 'STRING', data: list(5000, some((i) => words[int(6)])) },
], { rowGroupSize: 777, kvMetadata: [{ key: 'tool', value: 'neuron-explorer' }, { key: 'empty', value: '' }] })
hyparquet('hyp_empty.parquet', [{ name: 'id', type: 'INT64', data: [] }, { name: 's', type: 'STRING', data: [] }])
hyparquet('hyp_allnull.parquet', [
  { name: 'id', type: 'INT64', data: list(2000, () => null) }, { name: 's', type: 'STRING', data: list(2000, () => null) },
  { name: 'f', type: 'DOUBLE', data: list(2000, () => null) }, { name: 'd', type: 'INT64', data: list(2000, () => null), encoding: 'DELTA_BINARY_PACKED' },
  { name: 't', type: 'STRING', data: list(2000, () => null), encoding: 'DELTA_BYTE_ARRAY' },
])
hyparquet('hyp_unsigned.parquet', [
  { name: 'u32', data: list(100, some((i) => [4294967295, 0, 2147483648, i][i % 4])) },
  { name: 'enum', data: list(100, some((i) => words[i % 3])) },
], { schema: [
  { name: 'root', num_children: 2 },
  { name: 'u32', type: 'INT32', converted_type: 'UINT_32', repetition_type: 'OPTIONAL' },
  { name: 'enum', type: 'BYTE_ARRAY', converted_type: 'ENUM', repetition_type: 'OPTIONAL' },
] })
const lists = list(1500, (i) => (i % 11 === 5 ? null : list(i % 5, (k) => (k === 3 ? null : BigInt(i * 10 + k)))))
hyparquet('hyp_list.parquet', [{ name: 'l', data: lists }, { name: 'id', data: list(1500, (i) => i) }], { schema: [
  { name: 'root', num_children: 2 },
  { name: 'l', repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST' },
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  { name: 'element', repetition_type: 'OPTIONAL', type: 'INT64' },
  { name: 'id', type: 'INT32', repetition_type: 'REQUIRED' },
], pageSize: 2000, rowGroupSize: 900 })

hyparquet('hyp_long.parquet', [ // pages of more rows than are decoded at a time
  { name: 'id', type: 'INT64', data: list(20000, some((i) => BigInt(i))), encoding: 'DELTA_BINARY_PACKED' },
  { name: 's', type: 'STRING', data: list(20000, some((i) => 'prefix '.repeat(40) + (i >> 4))), encoding: 'DELTA_BYTE_ARRAY' },
  { name: 'l', type: 'INT32', data: list(20000, some((i) => i >> 9)) },
], { rowGroupSize: 20000, codec: 'UNCOMPRESSED' })

// parquet-wasm (arrow-rs) --------------------------------------------------------------------------------------------

const rows = 800
const table = arrow.tableFromArrays({
  id: BigInt64Array.from(list(rows, (i) => BigInt(i))),
  i32: Int32Array.from(list(rows, (i) => int(1 << 30) - (1 << 29))),
  u32: Uint32Array.from(list(rows, (i) => 4294967295 - i * 1000)),
  u8: Uint8Array.from(list(rows, (i) => i & 255)),
  f64: Float64Array.from(list(rows, (i) => random() * 1e6)),
  f32: Float32Array.from(list(rows, (i) => i % 50)),
  word: arrow.vectorFromArray(list(rows, (i) => words[int(words.length)]), new arrow.Utf8()),
  maybe: arrow.vectorFromArray(list(rows, some((i) => 'row ' + i)), new arrow.Utf8()),
  flag: arrow.vectorFromArray(list(rows, some((i) => i % 2 === 1)), new arrow.Bool()),
})
const { Compression, WriterVersion, Encoding } = wasm
const codecs = { none: Compression.UNCOMPRESSED, snappy: Compression.SNAPPY, gzip: Compression.GZIP, brotli: Compression.BROTLI,
  zstd: Compression.ZSTD, lz4raw: Compression.LZ4_RAW, lz4: Compression.LZ4 }
for (const [codec, compression] of Object.entries(codecs))
  for (const version of [1, 2])
    for (const dictionary of [true, false]) {
      let b = new wasm.WriterPropertiesBuilder().setCompression(compression).setDictionaryEnabled(dictionary)
        .setWriterVersion(version === 2 ? WriterVersion.V2 : WriterVersion.V1).setDataPageSizeLimit(2000).setWriteBatchSize(256)
        .setMaxRowGroupSize(500)
      if (!dictionary && version === 2) b = b.setColumnEncoding('maybe', Encoding.DELTA_BYTE_ARRAY).setColumnEncoding('word', Encoding.DELTA_LENGTH_BYTE_ARRAY)
        .setColumnEncoding('f64', Encoding.BYTE_STREAM_SPLIT).setColumnEncoding('i32', Encoding.BYTE_STREAM_SPLIT)
      const input = wasm.Table.fromIPCStream(arrow.tableToIPC(table, 'stream'))
      fs.writeFileSync(file(`wasm_${codec}_v${version}_${dictionary ? 'dict' : 'plain'}.parquet`), wasm.writeParquet(input, b.build()))
    }

// DuckDB -------------------------------------------------------------------------------------------------------------

const connection = await (await DuckDBInstance.create(':memory:')).connect()
const run = (sql) => connection.run(sql)
await run(`create type kind as enum ('data', 'input', 'output')`)
await run(`create table t as select i as id, case when i % 7 = 3 then null else i * 1000003 end as big, (i % 100)::tinyint as i8,
  (i % 30000)::smallint as i16, i::integer as i32, (i % 256)::utinyint as u8, (i * 7 % 65536)::usmallint as u16,
  (4294967295 - i)::uinteger as u32, (18446744073709551615 - i % 3 * 9223372036854775807::hugeint)::ubigint as u64,
  (i / 3.0)::float as f32, case i % 5 when 0 then 'nan'::double when 1 then 'inf'::double else i / 7.0 end as f64,
  (i * 13 % 100000 / 100.0)::decimal(9, 2) as dec9, (i * 131 - 5000)::decimal(18, 4) as dec18, (i * 131 - 5000)::decimal(38, 10) as dec38,
  (i * 131 - 5000)::decimal(12, 0) as dec0,
  'word ' || (i % 13) as word, case when i % 5 = 1 then null else repeat('x', i % 40) || i end as maybe, i % 2 = 0 as flag,
  ['data', 'input', 'output'][i % 3 + 1]::kind as kind, date '1969-12-25' + i::integer as day, time '00:00:01' + to_seconds(i) as clock,
  timestamp '2026-01-01' + to_seconds(i) as ts, timestamp_ms '2026-01-01 00:00:00.123' as tms, timestamp_ns '2026-01-01 00:00:00.123456789' as tns,
  md5(i::varchar)::uuid as uuid, md5(i::varchar)::blob as bytes
  from range(1100) r(i)`)
await run(`create table nested as select i as id, case when i % 11 = 5 then null else list_transform(range(i % 5), x -> case when x = 3 then null else i * 10 + x end) end as l,
  list_transform(range(i % 3), x -> list_transform(range(x), y -> 'w' || y)) as ll, {'a': i, 'b': case when i % 4 = 1 then null else 'b' || i end} as s,
  case when i % 3 = 0 then null else [i / 2.0, null, i] end as f, list_transform(range(i % 4), x -> {'k': x, 'v': 'v' || x}) as ls,
  map {'one': i, 'two': i + 1} as m from range(1200) r(i)`)
for (const codec of ['uncompressed', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4_raw'])
  for (const version of ['v1', 'v2']) {
    const options = `(format parquet, codec ${codec}, parquet_version ${version}, row_group_size 600)`
    await run(`copy t to '${file(`duck_${codec}_${version}.parquet`)}' ${options}`)
    if (codec === 'zstd' || codec === 'uncompressed') await run(`copy nested to '${file(`duck_nested_${codec}_${version}.parquet`)}' ${options}`)
  }
await run(`copy (select * from t limit 0) to '${file('duck_empty.parquet')}' (format parquet)`)

// A profile folder as neuron-explorer lays it out: split files, types of other schema versions, tables that no schema knows.
const profile = path.join(folder, 'profile')
fs.mkdirSync(profile, { recursive: true })
const put = (name, select) => run(`copy (${select}) to '${path.join(profile, name)}.parquet' (format parquet, codec zstd)`)
const instruction = (from, to, pcore) => `select (i * 100)::bigint as start_ts, (i * 100 + 60)::bigint as end_ts, 60::bigint as duration_ns,
  ['Tensor', 'Vector', 'Scalar', 'GpSimd', 'Sync'][i % 5 + 1] as engine, ['MATMUL', 'TENSOR_TENSOR'][i % 2 + 1] as opcode, 'src=bf16@0x' || i || ' 128*128' as operands,
  i::bigint as id, i::bigint as pc, 'b' || (i // 2) as bir_id, (i * 8)::bigint as raw_flops, ${pcore} as pcore_idx,
  '/compile/host/kernels/k.py:' || (i % 3 + 1) as bir_debug_info_source_location, 'new' || i as brand_new from range(${from}, ${to}) r(i)`
await put('Instruction_0', instruction(0, 700, '0::bigint'))
await put('Instruction_1', instruction(700, 1000, '1.0::double'))
await put('Summary', `select 0.0001::float as total_time, 16777217::double as hardware_flops, 0.5::double as hfu_estimated_percent, null::bigint as transpose_flops`)
await put('Metadata', `select '6.2.0' as profile_schema_version, 6::integer as ntff_version, true as vnc_enabled, 4.35e11::double as dma_ddr_bandwidth, 'trn1.2xlarge' as instance_type,
  '2.32.0' as explorer_version, null::varchar as compiler_version, '2.30' as runtime_version, 2::integer as num_physical_cores`)
await put('Throttle', `select 5::bigint as duration, 1::integer as k, 2::integer as n, i::bigint as timestamp, 'a' as type from range(3) r(i)`)
await put('CoreBarriers', `select 1::bigint as start_ts, 2500::bigint as end_ts, 3::bigint as duration_ns, null::varchar as engine_name`)
await put('SchemaFields', `select * from (values ('CoreBarriers', 'start_ts', 'us'), ('CoreBarriers', 'end_ts', 'ps'), ('CoreBarriers', 'id', null), ('Instruction', 'start_ts', 'ns'))
  t(table_name, field_name, field_unit)`)
await put('BirInstruction', `select 1::bigint as id, [1, 2, null]::bigint[] as element_count_per_interval, '[[1, 2]]' as time_intervals`)
await put('Brand_New', `select {'a': 1, 'b': ['x']} as s, i as n from range(2) r(i)`)
await put('nkiln_notes', `select 'info' as level, 'x' as code, 'y' as message`)
fs.writeFileSync(path.join(profile, 'notes.txt'), 'not a table')

// Reading back -------------------------------------------------------------------------------------------------------

const big64 = (v) => (v >= -(2n ** 63n) && v < 2n ** 63n ? 'i' + v : double(Number(v)))
function fromDuck(v) {
  if (v === null || v === undefined) return null
  if (typeof v === 'boolean') return v ? 'i1' : 'i0'
  if (typeof v === 'bigint') return big64(v)
  if (typeof v === 'number') return double(v)
  if (typeof v === 'string') return text(v)
  const kind = v.constructor.name
  if (kind === 'DuckDBListValue') return v.items.map(fromDuck)
  if (kind === 'DuckDBDecimalValue') return v.scale === 0 ? 'i' + v.value : double(Number(v.toString()))
  if (kind === 'DuckDBDateValue' || kind === 'DuckDBUUIDValue') return text(v.toString())
  if (kind === 'DuckDBTimeValue') return 'i' + v.micros * 1000n
  if (kind === 'DuckDBTimestampValue') return 'i' + v.micros * 1000n
  if (kind === 'DuckDBTimestampMillisecondsValue') return 'i' + v.millis * 1000000n
  if (kind === 'DuckDBTimestampNanosecondsValue') return 'i' + v.nanos
  if (kind === 'DuckDBBlobValue') return text(v.bytes)
  throw new Error('value of ' + kind)
}
const integers = ['TINYINT', 'SMALLINT', 'INTEGER', 'UTINYINT', 'USMALLINT', 'UINTEGER']
async function duckReads(name, select = '*') {
  const r = await connection.runAndReadAll(`select ${select} from read_parquet('${file(name)}', binary_as_string = true)`)
  const types = r.columnTypes().map(String), names = r.columnNames(), columns = {}
  const data = r.getColumns()
  names.forEach((n, i) => (columns[n] = (data[i] ?? []).map((v) => (typeof v === 'number' && integers.includes(types[i]) ? 'i' + v : fromDuck(v)))))
  expected[name] = { reader: 'duckdb', rows: r.currentRowCount, columns }
}
// Leaves of nested columns, as nkiln names them.
const nested = `id, l, ll, s.a as "s.a", s.b as "s.b", f, list_transform(ls, x -> x.k) as "ls.k", list_transform(ls, x -> x.v) as "ls.v",
  map_keys(m) as "m.key", map_values(m) as "m.value"`

async function hyparquetReads(name) {
  const buffer = await asyncBufferFromFile(file(name))
  const metadata = await parquetMetadataAsync(buffer)
  const leaves = Object.fromEntries(metadata.schema.filter((e) => e.type).map((e) => [e.name, e]))
  const value = (e) => (v) => {
    if (v === null || v === undefined) return null
    if (Array.isArray(v)) return v.map(value(e))
    if (typeof v === 'boolean') return v ? 'i1' : 'i0'
    if (typeof v === 'bigint') return big64(v)
    if (typeof v === 'number') return e && e.type.startsWith('INT') ? 'i' + v : double(v)
    return text(v)
  }
  const columns = {}
  await parquetRead({ file: buffer, metadata, compressors, onComplete: (rows) => {
    metadata.schema.slice(1).filter((e, i) => e.num_children || leaves[e.name]).forEach((e) => { if (!['list', 'element'].includes(e.name)) columns[e.name] = [] })
    const names = Object.keys(columns)
    for (const row of rows) names.forEach((n, i) => columns[n].push(value(leaves[n] ?? leaves.element)(row[i])))
  } })
  expected['hyparquet ' + name] = { file: name, reader: 'hyparquet', rows: Number(metadata.num_rows), columns }
}

for (const name of fs.readdirSync(folder).filter((n) => n.endsWith('.parquet')).sort()) {
  const isNested = name.startsWith('duck_nested')
  try { await duckReads(name, isNested ? nested : '*') } catch (e) { console.log(`duckdb does not read ${name}: ${e.message.split('\n')[0]}`) }
  if (!name.startsWith('duck')) try { await hyparquetReads(name) } catch (e) { console.log(`hyparquet does not read ${name}: ${e.message}`) }
}
for (const [name, e] of Object.entries(expected)) e.file ??= name
fs.writeFileSync(path.join(folder, 'expected.json'), JSON.stringify(expected))
console.log(Object.keys(expected).length + ' readings')
