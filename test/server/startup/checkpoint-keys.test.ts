import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { generateCheckpointKey } from '../../../adapters/files/index.ts'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { openLogIdentity } from '../../../core/log/identity.ts'
import { keyringPath, openKeyring } from '../../../server/startup/checkpoint-keys.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { filesBelow, temporaryFor } from '../../support/temporary.ts'

const secret = new Uint8Array(32).fill(1)
const clock = new ManualClock()
const configOf = (dataDir: string, readOnly = false) => ({ dataDir, readOnly, checkpointKeys: undefined })

describe('the keyring of a server', () => {
  it('is created for a new registry, and must be there for an existing one', async (t) => {
    const directory = await temporaryFor(t)
    const records = new MemoryRecords()
    const options = { config: configOf(directory), records, secret, isShared: false }
    const signer = await openKeyring(options)
    const [key] = await signer.publicKeys()
    assert.deepEqual(await filesBelow(directory), ['checkpoint-keys.json'])
    await openLogIdentity({ records, secret, clock, signer })
    assert.deepEqual(await (await openKeyring(options)).publicKeys(), [key])

    const elsewhere = await temporaryFor(t)
    const lost = { ...options, config: configOf(elsewhere) }
    await assert.rejects(openKeyring(lost), { code: 'LOG_KEY_MISMATCH', message: /is missing, but the log/ })
    assert.deepEqual(await filesBelow(elsewhere), [])
    // Another keyring does not have the key of the log.
    await generateCheckpointKey(keyringPath(configOf(elsewhere)))
    const other = await openKeyring(lost)
    await assert.rejects(openLogIdentity({ records, secret, clock, signer: other }), { code: 'LOG_KEY_MISMATCH' })
  })

  it('is not created for shared records, because all servers need the same key', async (t) => {
    const directory = await temporaryFor(t)
    const options = { config: configOf(directory), records: new MemoryRecords(), secret, isShared: true }
    await assert.rejects(openKeyring(options), { code: 'CONFIG_ERROR', message: /keys generate/ })
    assert.deepEqual(await filesBelow(directory), [])
  })

  it('gets the keys that were derived from the secret, also beside a key that was generated before', async (t) => {
    for (const isGenerated of [false, true]) {
      const directory = await temporaryFor(t)
      const records = new MemoryRecords()
      const derived = await openLogIdentity({ records, secret, clock })
      if (isGenerated) await generateCheckpointKey(keyringPath(configOf(directory)))
      const readOnly = await openKeyring({ config: configOf(directory, true), records, secret, isShared: true })
      assert.equal((await filesBelow(directory)).length, isGenerated ? 1 : 0, 'nothing is written')
      assert.ok((await readOnly.publicKeys()).length > 0)

      const signer = await openKeyring({ config: configOf(directory), records, secret, isShared: true })
      assert.equal((await signer.publicKeys()).length, isGenerated ? 2 : 1)
      const identity = await openLogIdentity({ records, secret, clock, signer })
      assert.equal(identity.verifierKey, derived.verifierKey)
      assert.equal(await identity.signCheckpoint(1, secret), await derived.signCheckpoint(1, secret))
      if (!isGenerated) continue

      // Once the log has an independent key, the derived one is not exported again.
      await identity.rotateCheckpointKey()
      const other = await temporaryFor(t)
      const lost = openKeyring({ config: configOf(other), records, secret, isShared: true })
      await assert.rejects(lost, { code: 'LOG_KEY_MISMATCH' })
    }
  })

  it('is not searched for with another secret', async (t) => {
    const directory = await temporaryFor(t)
    const records = new MemoryRecords()
    await openLogIdentity({ records, secret, clock })
    const wrong = { config: configOf(directory), records, secret: new Uint8Array(32).fill(2), isShared: false }
    await assert.rejects(openKeyring(wrong), { code: 'LOG_KEY_MISMATCH', message: /root secret/ })
  })
})
