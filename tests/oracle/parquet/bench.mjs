// SPDX-License-Identifier: MIT
// A large Instruction table, and DuckDB's time with it.
//   node bench.mjs make FOLDER ROWS   FOLDER/Instruction.parquet, all columns of the schema (column names and types on stdin)
//   node bench.mjs time FOLDER        JSON: seconds to read all of it, and to put it into a DuckDB database on disk
import fs from 'node:fs'
import { DuckDBInstance } from '@duckdb/node-api'

const [what, folder, rows] = process.argv.slice(2)
const connection = await (await DuckDBInstance.create(what === 'time' ? `${folder}/duck.db` : ':memory:')).connect()
const file = `${folder}/Instruction.parquet`

if (what === 'make') {
  // What columns hold in a matrix product: few opcodes and engines, unique ids, NULL where an instruction has no such figure.
  const tensor = (value) => `case when i % 2 = 0 then ${value} end`
  const given = {
    start_ts: 'i * 61', end_ts: 'i * 61 + 55', duration_ns: '(50 + i % 11)', engine: `['Tensor', 'Tensor', 'Vector', 'Scalar'][i % 4 + 1]`,
    timeline_track: `['TensorMatrix', 'TensorMatrix', 'Vector', 'Scalar'][i % 4 + 1]`, opcode: `['MATMUL', 'LDWEIGHTS', 'TENSOR_TENSOR', 'ACTIVATE'][i % 4 + 1]`,
    operands: `'src=bf16@' || (i * 128 % 196608) || '[1][512] dst=fp32@' || (i * 2048 % 16384) || '[1][512] 128*128'`, bir_id: `'I-' || (i // 2)`,
    bir_instruction_name: `'inst.' || (i // 3)`, kernel_instruction_name: `'inst.' || (i // 3) || ':' || (i % 3)`, id: 'i', pc: 'i * 64',
    nki_source_location: `case when i % 5 = 0 then 'matmul.py:' || (i % 40) end`, bir_debug_info_source_location: `'/home/user/kernels/matmul.py:' || (i % 40)`,
    hbm_read_bytes: tensor('i % 7 * 512'), raw_flops: tensor('16777216'), adjusted_flops: tensor('16777216'), pcore_idx: '0',
    tensor_instruction_type: `case when i % 2 = 0 then 'REGULAR' end`, instruction_chain: `'[' || i || ']'`, stack_frame_ids: `'[' || (i % 300) || ']'`,
    layer: `'model/layer' || (i % 24)`, evt_wait_time_ns: 'i % 97',
  }
  const columns = fs.readFileSync(0, 'utf8').trim().split('\n').map((line) => line.split(' '))
  const select = columns.map(([name, type]) => {
    const sql = type === 'str' || /^[A-Z]/.test(type) ? 'varchar' : type === 'f32' || type === 'f64' ? 'double' : 'bigint'
    const value = given[name] ?? (sql === 'varchar' ? 'null' : `case when i % 3 = 0 then i % 1000 end`)
    return `(${value})::${sql} as "${name}"`
  })
  fs.mkdirSync(folder, { recursive: true })
  await connection.run(`copy (select ${select.join(', ')} from range(${rows}) r(i)) to '${file}' (format parquet, codec zstd)`)
} else {
  await connection.run('set threads = 2')
  const seconds = async (sql) => { const t = process.hrtime.bigint(); await connection.run(sql); return Number(process.hrtime.bigint() - t) / 1e9 }
  const names = (await connection.runAndReadAll(`select * from read_parquet('${file}') limit 1`)).columnNames()
  const read = Math.min(...[await seconds(`select ${names.map((n) => `max("${n}")`).join(', ')} from read_parquet('${file}')`),
    await seconds(`select ${names.map((n) => `max("${n}")`).join(', ')} from read_parquet('${file}')`)])
  const store = await seconds(`create or replace table t as select * from read_parquet('${file}')`) + (await seconds('create index a on t(id)')) + (await seconds('checkpoint'))
  console.log(JSON.stringify({ read, store }))
}
