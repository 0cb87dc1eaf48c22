import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { ServerProcess } from '../../support/server-process.ts'
import { makeTemporary, removeTemporary } from '../../support/temporary.ts'

const MIB = 1024 * 1024
/** Only ends a program that hangs. */
const HANG_MS = 300_000

/** A small file system in memory. `undefined` if this user must not mount one. */
async function smallDisk(t: TestContext, bytes: number): Promise<string | undefined> {
  const path = await makeTemporary()
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path])
  t.after(async () => {
    spawnSync('umount', ['-l', path])
    await removeTemporary(path)
  })
  return mounted.status === 0 ? path : undefined
}

/** Fills a disk to its last byte. */
async function fill(path: string): Promise<string> {
  const file = join(path, 'filling')
  spawnSync('dd', ['if=/dev/zero', `of=${file}`, 'bs=64k'])
  spawnSync('dd', ['if=/dev/zero', `of=${file}`, 'bs=1', 'oflag=append', 'conv=notrunc'], { timeout: HANG_MS })
  return file
}

describe('a server on a full disk', () => {
  it('serves reads, says why it is not ready, and starts again without loss once there is space', async (t) => {
    const disk = await smallDisk(t, 200 * MIB)
    if (disk === undefined) return t.diagnostic('not tested: this user cannot mount a small file system')
    const directory = join(disk, 'data')
    const start = (): ServerProcess => {
      const server = new ServerProcess(directory)
      t.after(() => server.stop('SIGKILL'))
      return server
    }
    const headers = { 'x-api-key': 'the-key-of-the-source-system', 'content-type': 'application/json' }
    const createIn = async (server: ServerProcess, name: string) =>
      fetch(`${await server.ready()}/api/v1/evidences/acme/category`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ name }),
      })
    const namesIn = async (server: ServerProcess): Promise<string> =>
      (await fetch(`${await server.ready()}/api/v1/evidences/acme/category`, { headers })).text()

    const first = start()
    const url = await first.ready()
    const operatorKey = (await readFile(join(directory, 'operator.key'), 'utf8')).trim()
    await fetch(`${url}/api/v1/sourceSystem/acme`, {
      method: 'POST',
      headers: { ...headers, 'x-api-key': operatorKey },
      body: JSON.stringify({ name: 'first', apiKey: headers['x-api-key'], permissions: 'A' }),
    })
    assert.equal((await createIn(first, 'kept')).status, 201)

    let filling = await fill(disk)
    // The last page of a file may still have room for some.
    let attempts = 0
    await eventually(async () => (await createIn(first, `full ${(attempts += 1)}`)).status === 503)
    const ready = await fetch(`${url}/readyz`)
    assert.equal(ready.status, 503)
    assert.match(await ready.text(), /"status":"unavailable","reason":"STORE_POISONED"/)
    assert.match(await namesIn(first), /kept/)
    assert.ok(first.lines.some(({ msg }) => /the disk is full; free some space \(ENOSPC\)/.test(String(msg))))
    await rm(filling)
    assert.equal(await first.ended(), 75)

    const second = start()
    assert.match(await namesIn(second), /kept/)
    assert.equal((await createIn(second, 'later')).status, 201)
    await second.stop()
    filling = await fill(disk)
    const third = start()
    assert.equal(await third.ended(), 1)
    assert.match(third.stderr, /^evidence-registry: .*the disk is full.*\(ENOSPC\).*\n$/)
    await rm(filling)
    assert.match(await namesIn(start()), /kept[^]*later/)
    return undefined
  })
})
