import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { cp, readFile, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { openLocalTsa, readLastStamped, type LocalTsa } from '../../../adapters/local-tsa/index.ts'
import { verifyTimestamp } from '../../../core/verify/tokens.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { failEachCall, FaultyFiles } from '../../support/faulty-files.ts'
import { filesBelow, temporaryFor } from '../../support/temporary.ts'

const data = new TextEncoder().encode('a checkpoint\n')
const YEAR_MS = 365 * 86_400_000

async function openFor(t: TestContext): Promise<{ directory: string; clock: ManualClock; tsa: LocalTsa }> {
  const directory = join(await temporaryFor(t), 'tsa')
  const clock = new ManualClock()
  return { directory, clock, tsa: await openLocalTsa(directory, { clock }) }
}

const isIssuedUnder = (token: Uint8Array, anchor: Uint8Array): boolean =>
  verifyTimestamp(token, { data, trustAnchors: [anchor] }).imprint.length === 32

/** Changes a letter of the name in the CA's certificate, which its signature then does not fit. */
async function changeNameOfCa(directory: string): Promise<void> {
  const path = join(directory, 'ca.pem')
  const der = Buffer.from(new X509Certificate(await readFile(path)).raw)
  der.write('l', der.indexOf('LOCAL TEST'), 'latin1')
  await writeFile(path, `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`)
}

describe('the local timestamp authority', () => {
  test('is named local and operated by the operator, and its certificates warn not to trust it', async (t) => {
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

  test('creates only its three files, with keys that only their owner can read', async (t) => {
    const { directory } = await openFor(t)
    assert.deepEqual(await filesBelow(directory), ['ca.key', 'ca.pem', 'tsa.pem'])
    for (const name of ['ca.key', 'tsa.pem']) assert.equal((await stat(join(directory, name))).mode & 0o777, 0o600)
  })

  test('uses the time of its clock as genTime, to the millisecond', async (t) => {
    const { tsa, clock } = await openFor(t)
    for (const ms of [0, 7, 120, 500]) {
      clock.set(Date.UTC(2026, 5, 1, 12, 0, 0, ms))
      const { genTime } = verifyTimestamp(await tsa.stamp(data), { data, trustAnchors: [tsa.trustAnchor] })
      assert.equal(genTime, clock.now())
    }
  })

  test('has the same trust anchor after a restart', async (t) => {
    const { tsa, directory, clock } = await openFor(t)
    const token = await tsa.stamp(data)
    await tsa.close()
    const again = await openLocalTsa(directory, { clock })
    assert.deepEqual(again.trustAnchor, tsa.trustAnchor)
    assert.ok(isIssuedUnder(token, again.trustAnchor))
    assert.ok(isIssuedUnder(await again.stamp(data), tsa.trustAnchor))
  })

  test('has a new signer of the same CA if its file was removed', async (t) => {
    const { tsa, directory, clock } = await openFor(t)
    const token = await tsa.stamp(data)
    await tsa.close()
    const first = await readFile(join(directory, 'tsa.pem'), 'utf8')
    await unlink(join(directory, 'tsa.pem'))
    clock.set(clock.now() + 29 * YEAR_MS)
    const again = await openLocalTsa(directory, { clock })
    assert.notEqual(await readFile(join(directory, 'tsa.pem'), 'utf8'), first)
    for (const each of [token, await again.stamp(data)]) assert.ok(isIssuedUnder(each, tsa.trustAnchor))
  })

  test('throws AUTHORITY_FAILED before 2025, and stamps once the clock is right', async (t) => {
    for (const start of [0, Date.UTC(2024, 11, 31), Date.UTC(2160, 0, 1)]) {
      const directory = join(await temporaryFor(t), 'tsa')
      const clock = new ManualClock(start)
      const tsa = await openLocalTsa(directory, { clock })
      if (start < Date.UTC(2025, 0, 1))
        await assert.rejects(tsa.stamp(data), { code: 'AUTHORITY_FAILED', message: /check the clock/ })
      clock.set(Date.UTC(2026, 0, 1))
      assert.ok(isIssuedUnder(await tsa.stamp(data), tsa.trustAnchor))
      await tsa.close()
      assert.ok(isIssuedUnder(await (await openLocalTsa(directory, { clock })).stamp(data), tsa.trustAnchor))
    }
  })
})

describe('the files of the local timestamp authority', () => {
  test('are completed at the next start if the first one was interrupted after any of them', async (t) => {
    const faults = await failEachCall(['link'], async (plan) => {
      const directory = join(await temporaryFor(t), 'tsa')
      const faulty = new FaultyFiles()
      const clock = new ManualClock()
      faulty.arm(plan)
      const first = await openLocalTsa(directory, { clock, files: faulty.files }).catch((error: unknown) => {
        assert.equal((error as { code?: unknown }).code, 'CONFIG_ERROR')
        return undefined
      })
      const hasFailed = faulty.disarm()
      const token = await first?.stamp(data)
      const second = await openLocalTsa(directory, { clock })
      if (token) assert.ok(isIssuedUnder(token, second.trustAnchor))
      assert.ok(isIssuedUnder(await second.stamp(data), second.trustAnchor))
      assert.deepEqual(await filesBelow(directory), ['ca.key', 'ca.pem', 'last-stamp.json', 'tsa.pem'])
      return hasFailed
    })
    assert.equal(faults, 6)
  })

  test('without the CA’s key throw CONFIG_ERROR, and nothing is created', async (t) => {
    const { tsa, directory, clock } = await openFor(t)
    await tsa.close()
    await unlink(join(directory, 'ca.key'))
    await assert.rejects(openLocalTsa(directory, { clock }), { code: 'CONFIG_ERROR' })
    assert.deepEqual(await filesBelow(directory), ['ca.pem', 'tsa.pem'])
  })

  test('without the CA’s certificate throw CONFIG_ERROR, and no other one is issued', async (t) => {
    const { tsa, directory, clock } = await openFor(t)
    await tsa.close()
    await unlink(join(directory, 'ca.pem'))
    await assert.rejects(openLocalTsa(directory, { clock }), { code: 'CONFIG_ERROR' })
    assert.deepEqual(await filesBelow(directory), ['ca.key', 'tsa.pem'])
  })

  test('that are damaged or do not belong together throw CORRUPT, without key material in the error', async (t) => {
    const { directory, clock } = await openFor(t)
    const other = await openFor(t)
    const damages: readonly ((at: string) => Promise<void>)[] = [
      (at) => cp(join(other.directory, 'ca.key'), join(at, 'ca.key')),
      (at) => cp(join(other.directory, 'tsa.pem'), join(at, 'tsa.pem')),
      (at) => changePrivatePart(join(at, 'ca.key')),
      (at) => changePrivatePart(join(at, 'tsa.pem')),
      (at) => writeFile(join(at, 'ca.key'), 'no key'),
      (at) => writeFile(join(at, 'ca.pem'), 'no certificate'),
      changeNameOfCa,
      (at) => writeFile(join(at, 'tsa.pem'), 'neither'),
    ]
    for (const damage of damages) {
      const copy = join(await temporaryFor(t), 'copy')
      await cp(directory, copy, { recursive: true })
      await damage(copy)
      await assert.rejects(openLocalTsa(copy, { clock }), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'CORRUPT')
        assert.doesNotMatch(error.message, /PRIVATE KEY/)
        return true
      })
    }
  })

  test('do not include staged files of a process that crashed', async (t) => {
    const { directory, clock } = await openFor(t)
    await writeFile(join(directory, '.ca.key.0000.tmp'), 'half a key')
    await openLocalTsa(directory, { clock })
    assert.deepEqual(await filesBelow(directory), ['ca.key', 'ca.pem', 'tsa.pem'])
  })

  test('throw CONFIG_ERROR if the directory is a file', async (t) => {
    const path = join(await temporaryFor(t), 'file')
    await writeFile(path, '')
    await assert.rejects(openLocalTsa(path, { clock: new ManualClock() }), { code: 'CONFIG_ERROR' })
  })

  test('keep what was stamped last, with its token', async (t) => {
    const { tsa, directory, clock } = await openFor(t)
    assert.equal(tsa.lastStamped, undefined)
    for (const text of ['first', 'second']) await tsa.stamp(new TextEncoder().encode(text))
    await tsa.close()
    const { lastStamped, trustAnchor } = await openLocalTsa(directory, { clock })
    assert.equal(new TextDecoder().decode(lastStamped), 'second')
    assert.deepEqual(await readLastStamped(directory, trustAnchor), lastStamped)
    assert.equal((await stat(join(directory, 'last-stamp.json'))).mode & 0o777, 0o600)
  })

  test('keep the stamps of calls at the same time one after the other', async (t) => {
    const directory = join(await temporaryFor(t), 'tsa')
    const faulty = new FaultyFiles()
    const tsa = await openLocalTsa(directory, { clock: new ManualClock(), files: faulty.files })
    const callsOf = async (...texts: readonly string[]): Promise<string> => {
      faulty.calls.length = 0
      await Promise.all(texts.map((text) => tsa.stamp(new TextEncoder().encode(text))))
      return faulty.calls.join(' ')
    }
    const one = await callsOf('first')
    assert.equal(await callsOf('second', 'third'), `${one} ${one}`)
    assert.equal(new TextDecoder().decode(await readLastStamped(directory, tsa.trustAnchor)), 'third')
    await tsa.close()
  })

  test('keep it before the token is returned, and there is no token if that fails', async (t) => {
    const other = new TextEncoder().encode('an older checkpoint\n')
    const faults = await failEachCall(['write', 'rename'], async (plan) => {
      const directory = join(await temporaryFor(t), 'tsa')
      const faulty = new FaultyFiles()
      const tsa = await openLocalTsa(directory, { clock: new ManualClock(), files: faulty.files })
      await tsa.stamp(other)
      faulty.arm(plan)
      const token = await tsa.stamp(data).catch((error: unknown) => {
        assert.equal((error as { code?: unknown }).code, 'AUTHORITY_FAILED')
        return undefined
      })
      const hasFailed = faulty.disarm()
      assert.equal(token === undefined, hasFailed)
      const kept = new TextDecoder().decode(await readLastStamped(directory, tsa.trustAnchor))
      const isKept = kept === new TextDecoder().decode(data)
      assert.ok(isKept || (hasFailed && kept === new TextDecoder().decode(other)), kept)
      await tsa.stamp(data)
      assert.deepEqual(await readLastStamped(directory, tsa.trustAnchor), data)
      await tsa.close()
      return hasFailed
    })
    assert.equal(faults, 4)
  })

  test('with a damaged last stamp, or one of another authority, throw CORRUPT', async (t) => {
    const { tsa, directory, clock } = await openFor(t)
    const { tsa: foreign, directory: foreignDirectory } = await openFor(t)
    for (const authority of [tsa, foreign]) {
      await authority.stamp(data)
      await authority.close()
    }
    const path = join(directory, 'last-stamp.json')
    const text = await readFile(path, 'utf8')
    const { stamped, response } = JSON.parse(text) as { stamped: string; response: string }
    const otherBytes = Buffer.from('another checkpoint').toString('base64')
    const damaged = [
      '',
      'null',
      '{}',
      text.slice(0, -20),
      JSON.stringify({ stamped: otherBytes, response }),
      JSON.stringify({ stamped, response: response.slice(0, -8) }),
      await readFile(join(foreignDirectory, 'last-stamp.json'), 'utf8'),
    ]
    for (const content of damaged) {
      await writeFile(path, content)
      await assert.rejects(openLocalTsa(directory, { clock }), { code: 'CORRUPT' }, content)
    }
    await writeFile(path, text)
    await (await openLocalTsa(directory, { clock })).close()
  })
})

/** Changes the private number of a PKCS #8 key of P-256, and keeps the public one that stands behind it. */
async function changePrivatePart(path: string): Promise<void> {
  const pem = await readFile(path, 'utf8')
  const [body = ''] = /(?<=BEGIN PRIVATE KEY-----\n)[^-]+/.exec(pem) ?? []
  const der = Buffer.from(body, 'base64')
  der.writeUInt8(der.readUInt8(50) ^ 1, 50)
  await writeFile(path, pem.replace(body, `${der.toString('base64')}\n`))
}
