import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { startServer, stopChild, type ServerProcess } from '../../bench/run/child.ts'
import { STORES } from '../../bench/peers/stores.ts'
import { temporaryOfSuite } from '../support/temporary.ts'
import { runBench } from './run-bench.ts'

const directory = temporaryOfSuite()

describe('the benchmark peers', () => {
  it('says in one line how to get what is not installed', () => {
    const { status, stdout, errorLines } = runBench(['--quick', '--only', 'peers'], { PATH: '/nowhere' })
    assert.equal(status, 0, errorLines.join('\n'))
    const [line] = errorLines.filter((each) => each.includes('not installed'))
    assert.equal(line, "peers: without RocksDB's db_bench, which is not installed: apt-get install rocksdb-tools")
    assert.match(stdout, /│ 'PostgreSQL table with a hash chain' +│ \d/)
  })

  it('counts the keys of db_bench as creates', async () => {
    const line = 'overwrite    :       9.243 micros/op 108183 ops/sec 2.000 seconds 216000 operations;   25.3 MB/s'
    const program = join(directory, 'db_bench')
    await writeFile(program, `#!/bin/sh\necho '${line}'\n`)
    await chmod(program, 0o755)
    const path = process.env['PATH'] ?? ''
    process.env['PATH'] = directory + delimiter + path
    try {
      const open = await STORES.RocksDb.open(directory)
      assert.deepEqual(await open.write({ size: 1, width: 2, seconds: 2 }), { completed: 27_000, seconds: 2 })
    } finally {
      process.env['PATH'] = path
    }
  })
})

describe('the plain server that http compares with', () => {
  const evidences = '/api/v1/evidences/bench/evidence'
  const key = { 'x-api-key': 'a key' }
  const fields = { externalId: 'new', name: 'New', categoryName: 'A', subcategoryName: 'B' }
  let server: ServerProcess
  before(async () => {
    const page = JSON.stringify({ object: { externalId: 'item 0', name: 'Item' }, events: [{ type: 'create' }] })
    server = await startServer({ directory, module: './peers/plain-server.ts', args: [directory, '3', page, 'a key'] })
  })
  after(() => stopChild(server.child))
  const send = (path: string, init: RequestInit = {}) => fetch(server.url + path, { headers: key, ...init })

  it('returns an evidence with its events to a valid key only', async () => {
    const response = await send(`${evidences}/item%202`)
    assert.deepEqual(await response.json(), {
      object: { externalId: 'item 2', name: 'Item' },
      events: [{ type: 'create' }],
    })
    assert.match(response.headers.get('etag') ?? '', /^"[\w-]{43}"$/)
    assert.equal((await send(`${evidences}/item%202`, { headers: { 'x-api-key': 'other' } })).status, 401)
    assert.equal((await send(`${evidences}/item%203`)).status, 404)
  })

  it('creates an evidence with a file, once', async () => {
    const create = () => {
      const body = new FormData()
      for (const [name, value] of Object.entries(fields)) body.set(name, value)
      body.set('images', new Blob(['content']), 'a.bin')
      return send(evidences, { method: 'POST', body })
    }
    assert.equal((await create()).status, 201)
    const { object }: { object: { files: { id: string; sha256: string }[] } } = JSON.parse(
      await (await send(`${evidences}/new`)).text(),
    )
    const [file] = object.files
    assert.equal(file?.sha256, createHash('sha256').update('content').digest('hex'))
    assert.equal(await readFile(join(directory, file?.id ?? ''), 'utf8'), 'content')
    assert.equal((await create()).status, 409)
  })
})
