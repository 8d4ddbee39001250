-- SPDX-License-Identifier: MIT
-- Before the tests run side by side: fetch the packages of npm and make the Parquet files once. Says what is missing, and fails for
-- nothing: the tests that need them skip.

local folder <const>, why <const> = require("tests.oracle.parquet.fixtures").make()
print(folder and "Parquet files of independent writers: " .. folder or "skip  " .. why)
