import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { cp, readFile, rename, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { openLocalTsa, type LocalTsa } from '../../../adapters/local-tsa/index.ts'
import { verifyTimestamp } from '../../../core/verify/index.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { failEachCall, FaultyFiles, type Operation } from '../../support/faulty-files.ts'
import { filesBelow, temporaryFor } from '../../support/temporary.ts'

const data = new TextEncoder().encode('a checkpoint\n')
const YEAR_MS = 365 * 86_400_000

async function openFor(t: TestContext): Promise<{ directory: string; clock: ManualClock; tsa: LocalTsa }> {
  const directory = join(await temporaryFor(t), 'tsa')
  const clock = new ManualClock()
  return { directory, clock, tsa: await openLocalTsa(directory, { clock }) }
}

const isFrom = (token: Uint8Array, anchor: Uint8Array): boolean =>
  verifyTimestamp(token, { data, trustAnchors: [anchor] }).imprint.length === 32

/** True where there is an openssl; says so where there is none, and fails where the machine is meant to be complete. */
function hasOpenssl(t: TestContext): boolean {
  const found = spawnSync('openssl', ['version']).status === 0
  if (found) return true
  assert.equal(process.env['CI'] ?? '', '', 'openssl is missing: apt-get install openssl')
  t.diagnostic('SKIPPED: openssl does not check the tokens, because it is missing: apt-get install openssl')
  return false
}

describe('the local timestamp authority', () => {
  test('is named local, is the operator’s, and its certificates say that they are not to be trusted', async (t) => {
    const { tsa, directory } = await openFor(t)
    assert.deepEqual(tsa.info, { name: 'local', assurance: 'operator', trustAnchors: [tsa.trustAnchor] })
    for (const name of ['ca.pem', 'tsa.pem']) {
      const { subject } = new X509Certificate(await readFile(join(directory, name)))
      assert.match(subject, /LOCAL TEST - NOT A TRUSTED AUTHORITY/)
    }
    assert.deepEqual(
      new Uint8Array(new X509Certificate(await readFile(join(directory, 'ca.pem'))).raw),
      tsa.trustAnchor,
    )
  })

  test('keeps its keys to its owner, and nothing else beside them', async (t) => {
    const { directory } = await openFor(t)
    assert.deepEqual(await filesBelow(directory), ['ca.key', 'ca.pem', 'tsa.pem'])
    for (const name of ['ca.key', 'tsa.pem']) assert.equal((await stat(join(directory, name))).mode & 0o777, 0o600)
  })

  test('takes genTime from its clock, to the millisecond', async (t) => {
    const { tsa, clock } = await openFor(t)
    for (const ms of [0, 7, 120, 500]) {
      clock.set(Date.UTC(2026, 5, 1, 12, 0, 0, ms))
      const { genTime } = verifyTimestamp(await tsa.stamp(data), { data, trustAnchors: [tsa.trustAnchor] })
      assert.equal(genTime, clock.now())
    }
  })

  test('gives tokens that openssl verifies over the data, and over no other', async (t) => {
    if (!hasOpenssl(t)) return
    const directory = await temporaryFor(t)
    // openssl checks certificates at its own present.
    const tsa = await openLocalTsa(directory, { clock: new ManualClock(Date.now()) })
    const [file, other, token] = ['data', 'other', 'token.tsr'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ]
    await writeFile(file, data)
    await writeFile(other, 'other data')
    await writeFile(token, await tsa.stamp(data))
    const verify = (path: string): string => {
      const args = ['ts', '-verify', '-data', path, '-in', token, '-CAfile', join(directory, 'ca.pem')]
      const { stdout, stderr } = spawnSync('openssl', args, { encoding: 'utf8' })
      return stdout + stderr
    }
    assert.match(verify(file), /Verification: OK/)
    assert.match(verify(other), /Verification: FAILED/)
    const text = spawnSync('openssl', ['ts', '-reply', '-in', token, '-text'], { encoding: 'utf8' }).stdout
    assert.match(text, /Status: Granted\.[^]*Hash Algorithm: sha256[^]*Nonce: 0x/)
  })

  test('is the same after a restart', async (t) => {
    const { tsa, directory, clock } = await openFor(t)
    const token = await tsa.stamp(data)
    await tsa.close()
    const again = await openLocalTsa(directory, { clock })
    assert.deepEqual(again.trustAnchor, tsa.trustAnchor)
    assert.ok(isFrom(token, again.trustAnchor))
    assert.ok(isFrom(await again.stamp(data), tsa.trustAnchor))
  })

  test('renews the signer’s certificate in its last year, while running and at the start, under the same CA', async (t) => {
    const { tsa, directory, clock } = await openFor(t)
    const signer = async (): Promise<string> => readFile(join(directory, 'tsa.pem'), 'utf8')
    const first = await signer()
    const token = await tsa.stamp(data)
    clock.set(clock.now() + 9 * YEAR_MS - 1000)
    await tsa.stamp(data)
    assert.equal(await signer(), first)
    clock.set(clock.now() + 2000)
    const renewed = await Promise.all([tsa.stamp(data), tsa.stamp(data)])
    const second = await signer()
    assert.notEqual(second, first)
    for (const one of [token, ...renewed]) assert.ok(isFrom(one, tsa.trustAnchor))
    await tsa.close()
    clock.set(clock.now() + 9 * YEAR_MS + 2000)
    const again = await openLocalTsa(directory, { clock })
    assert.notEqual(await signer(), second)
    assert.ok(isFrom(await again.stamp(data), tsa.trustAnchor))
  })

  test('goes on with the old certificate where a new one cannot be written, and stops when it has ended', async (t) => {
    const directory = await temporaryFor(t)
    const faulty = new FaultyFiles()
    const clock = new ManualClock()
    const tsa = await openLocalTsa(directory, { clock, files: faulty.files })
    clock.set(clock.now() + 9.5 * YEAR_MS)
    faulty.arm({ operation: 'rename', nth: 1, fault: 'not applied', code: 'ENOSPC' })
    assert.ok(isFrom(await tsa.stamp(data), tsa.trustAnchor))
    assert.ok(faulty.disarm())
    clock.set(clock.now() + YEAR_MS)
    faulty.arm({ operation: 'rename', nth: 1, fault: 'not applied', code: 'ENOSPC' })
    await assert.rejects(tsa.stamp(data), { code: 'AUTHORITY_FAILED' })
    assert.ok(faulty.disarm())
    assert.ok(isFrom(await tsa.stamp(data), tsa.trustAnchor))
    assert.deepEqual(await filesBelow(directory), ['ca.key', 'ca.pem', 'tsa.pem'])
  })

  test('recovers from a clock that ran years ahead, renewed, and was set right again', async (t) => {
    const { tsa, directory, clock } = await openFor(t)
    const start = clock.now()
    clock.set(start + 9.5 * YEAR_MS)
    assert.ok(isFrom(await tsa.stamp(data), tsa.trustAnchor))
    clock.set(start)
    assert.ok(isFrom(await tsa.stamp(data), tsa.trustAnchor))
    await tsa.close()
    const again = await openLocalTsa(directory, { clock })
    assert.ok(isFrom(await again.stamp(data), tsa.trustAnchor))
  })

  test('gives no token that does not verify: AUTHORITY_FAILED where the clock is before or beyond its certificates', async (t) => {
    const { tsa, clock } = await openFor(t)
    const start = clock.now()
    clock.set(start - 3 * 86_400_000)
    await assert.rejects(tsa.stamp(data), { code: 'AUTHORITY_FAILED' })
    clock.set(start + 31 * YEAR_MS)
    await assert.rejects(tsa.stamp(data), { code: 'AUTHORITY_FAILED' })
    clock.set(start)
    assert.ok(isFrom(await tsa.stamp(data), tsa.trustAnchor))
  })
})

describe('the files of the local timestamp authority', () => {
  test('are made whole at the next start, wherever the first one broke off', async (t) => {
    const operations: readonly Operation[] = [
      'open',
      'write',
      'sync',
      'close',
      'link',
      'unlink',
      'mkdir',
      'readdir',
      'readFile',
    ]
    const met = await failEachCall(operations, async (plan) => {
      const directory = join(await temporaryFor(t), 'tsa')
      const faulty = new FaultyFiles()
      const clock = new ManualClock()
      faulty.arm(plan)
      const first = await openLocalTsa(directory, { clock, files: faulty.files }).catch((error: unknown) => {
        assert.equal((error as { code?: unknown }).code, 'CONFIG_ERROR')
        return undefined
      })
      const wasMet = faulty.disarm()
      const token = await first?.stamp(data)
      const second = await openLocalTsa(directory, { clock })
      if (token) assert.ok(isFrom(token, second.trustAnchor))
      assert.ok(isFrom(await second.stamp(data), second.trustAnchor))
      assert.deepEqual(await filesBelow(directory), ['ca.key', 'ca.pem', 'tsa.pem'])
      return wasMet
    })
    assert.ok(met > 40, `only ${met} faults were met`)
  })

  test('are refused where the CA’s key is missing: CONFIG_ERROR, and nothing is made', async (t) => {
    const { tsa, directory, clock } = await openFor(t)
    await tsa.close()
    await unlink(join(directory, 'ca.key'))
    await assert.rejects(openLocalTsa(directory, { clock }), { code: 'CONFIG_ERROR' })
    assert.deepEqual(await filesBelow(directory), ['ca.pem', 'tsa.pem'])
  })

  test('are refused where they do not fit together or cannot be read: CORRUPT, without key material in the error', async (t) => {
    const { directory, clock } = await openFor(t)
    const other = await openFor(t)
    const spoil: readonly ((at: string) => Promise<void>)[] = [
      (at) => cp(join(other.directory, 'ca.key'), join(at, 'ca.key')),
      (at) => cp(join(other.directory, 'tsa.pem'), join(at, 'tsa.pem')),
      (at) => writeFile(join(at, 'ca.key'), 'no key'),
      (at) => writeFile(join(at, 'ca.pem'), 'no certificate'),
      (at) => writeFile(join(at, 'tsa.pem'), 'neither'),
    ]
    for (const spoilOne of spoil) {
      const copy = join(await temporaryFor(t), 'copy')
      await cp(directory, copy, { recursive: true })
      await spoilOne(copy)
      await assert.rejects(openLocalTsa(copy, { clock }), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'CORRUPT')
        assert.doesNotMatch(error.message, /PRIVATE KEY/)
        return true
      })
    }
  })

  test('leave no half-written ones of a process that died', async (t) => {
    const { directory, clock } = await openFor(t)
    await writeFile(join(directory, '.ca.key.0000.tmp'), 'half a key')
    await openLocalTsa(directory, { clock })
    assert.deepEqual(await filesBelow(directory), ['ca.key', 'ca.pem', 'tsa.pem'])
  })

  test('are refused where the directory is a file: CONFIG_ERROR', async (t) => {
    const path = join(await temporaryFor(t), 'file')
    await writeFile(path, '')
    await assert.rejects(openLocalTsa(path, { clock: new ManualClock() }), { code: 'CONFIG_ERROR' })
  })

  test('can be moved', async (t) => {
    const { tsa, directory, clock } = await openFor(t)
    await rename(directory, `${directory}-moved`)
    const moved = await openLocalTsa(`${directory}-moved`, { clock })
    assert.deepEqual(moved.trustAnchor, tsa.trustAnchor)
    await rm(`${directory}-moved`, { recursive: true })
  })
})
