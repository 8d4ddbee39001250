-- SPDX-License-Identifier: MIT
-- Before the tests run side by side: fetch the packages of npm and make the Parquet files once. Says what is missing; the status is 1
-- then, and the tests that need them had better not try again.

local folder <const>, why <const> = require("tests.oracle.parquet.fixtures").make()
print(folder and "Parquet files of independent writers: " .. folder or "skip  " .. why)
return folder and 0 or 1
