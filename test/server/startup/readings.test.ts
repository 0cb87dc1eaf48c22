import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { accountOfPrivateKey, openEvmAnchor } from '../../../adapters/evm/index.ts'
import { openLocalTsa } from '../../../adapters/local-tsa/index.ts'
import { OperatorReadings, noteBackup } from '../../../server/startup/readings.ts'
import { newPrivateKey } from '../../support/anvil.ts'
import { directoryWith } from '../../support/configured-registry.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeNode } from '../../support/fake-node.ts'
import { runCli } from '../../support/server-process.ts'
import { temporaryFor } from '../../support/temporary.ts'

/** The values of one metric. */
async function read(readings: OperatorReadings, name: string) {
  const row = readings.metrics().find((each) => each.name === name)
  return (await row?.values()) ?? []
}

describe('what an operator must replenish or renew', () => {
  it('is the age of a backup, also of one that a command made', async (t) => {
    const directory = await directoryWith(t, ['a'])
    const readings = new OperatorReadings(directory, undefined)
    const seconds = async (): Promise<number> => (await read(readings, 'last_backup_timestamp_seconds'))[0]?.[1] ?? NaN
    assert.equal(await seconds(), 0)
    assert.deepEqual((await readings.forUsers()).backup, {})
    const before = Date.now()
    await runCli(['backup', '--to', await temporaryFor(t), '--data-dir', directory])
    assert.ok((await seconds()) >= before / 1_000, 'it is noted')
    await noteBackup(directory, 5_000)
    assert.equal(await seconds(), 5)
    assert.deepEqual((await readings.forUsers()).backup, { at: new Date(5_000) })
  })

  it('is the space of each folder that exists', async (t) => {
    const directory = await temporaryFor(t)
    await mkdir(join(directory, 'blobs'))
    const readings = new OperatorReadings(directory, undefined)
    const [free, size] = [await read(readings, 'disk_free_bytes'), await read(readings, 'disk_size_bytes')]
    for (const values of [free, size])
      assert.deepEqual(
        values.map(([folder]) => folder),
        ['.', 'blobs'],
      )
    const { disk } = await readings.forUsers()
    assert.ok(disk && disk.freeBytes > 0 && disk.sizeBytes === size[0]?.[1])
    for (const [i, [, bytes]] of free.entries()) assert.ok(bytes > 0 && bytes <= (size[i]?.[1] ?? 0), `${bytes}`)
  })

  it('is the first certificate of an authority that expires', async (t) => {
    const directory = await temporaryFor(t)
    const authority = await openLocalTsa(directory)
    const readings = new OperatorReadings(directory, undefined)
    const watched = readings.watch(authority)
    const expiryOf = async (name: string): Promise<number> =>
      Date.parse(new X509Certificate(await readFile(join(directory, name))).validTo) / 1_000
    assert.deepEqual(await read(readings, 'certificate_expiry_timestamp_seconds'), [
      ['local', await expiryOf('ca.pem')],
    ])
    await watched.stamp(new Uint8Array(8))
    const first = Math.min(await expiryOf('ca.pem'), await expiryOf('tsa.pem'))
    assert.deepEqual(await read(readings, 'certificate_expiry_timestamp_seconds'), [['local', first]])
    await watched.close()
  })

  it('is the balance of the account of an EVM chain', async (t) => {
    const node = await FakeNode.start(t)
    const account = await accountOfPrivateKey(newPrivateKey())
    const anchor = await openEvmAnchor({
      rpcUrls: [node.url],
      chainId: 31_337,
      account,
      maxFeePerGas: 100n * 10n ** 9n,
    })
    t.after(() => anchor.close())
    const readings = new OperatorReadings('.', anchor)
    // The node has 1 ether for it; an anchor takes at most 40,000 gas at 100 gwei.
    const balance = await eventually(async () => (await read(readings, 'anchor_account_balance'))[0])
    assert.deepEqual(balance, [account.address, 1])
    assert.deepEqual(await read(readings, 'anchor_account_anchors'), [[account.address, 250]])
  })
})
