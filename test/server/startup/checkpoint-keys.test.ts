import { decorateRecords } from '../../../core/store/decorate.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { generateCheckpointKey } from '../../../adapters/files/index.ts'
import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { openLogIdentity } from '../../../core/log/identity.ts'
import { keyringPath, openKeyring } from '../../../server/startup/checkpoint-keys.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { filesBelow, temporaryFor } from '../../support/temporary.ts'
import { testSigner } from '../../support/test-signer.ts'

const secret = new Uint8Array(32).fill(1)
const clock = new ManualClock()
const configOf = (dataDir: string, readOnly = false) => ({ dataDir, readOnly, checkpointKeys: undefined })

describe('the keyring of a server', () => {
  it('is created for a new registry, and must be there for an existing one', async (t) => {
    const directory = await temporaryFor(t)
    const records = new MemoryRecords()
    const options = { config: configOf(directory), records, isShared: false }
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
    const options = { config: configOf(directory), records: decorateRecords(new MemoryRecords(), { isShared: true }) }
    await assert.rejects(openKeyring(options), { code: 'CONFIG_ERROR', message: /keys generate/ })
    assert.deepEqual(await filesBelow(directory), [])
  })

  it('is not needed to read', async (t) => {
    const directory = await temporaryFor(t)
    const records = new MemoryRecords()
    await openLogIdentity({ records, secret, clock, signer: testSigner() })
    const signer = await openKeyring({ config: configOf(directory, true), records })
    assert.deepEqual(await signer.publicKeys(), [])
    assert.deepEqual(await filesBelow(directory), [])
    await openLogIdentity({ records, secret, clock, signer, isReadOnly: true })
  })
})
