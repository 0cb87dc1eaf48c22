import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { listAll } from '../../contract/record-store-pair.ts'
import { openLevelRecords } from '../../../adapters/level/index.ts'
import { RunningRegistry } from '../../support/running-registry.ts'
import { runCli, ends } from '../../support/server-process.ts'

it('names each of the secret and the keyring that is missing, without which no server starts', async (t) => {
  const registry = await RunningRegistry.start(t)
  await registry.create('e-0')
  await registry.server.stop()
  const { directory } = registry
  const keyring = join(directory, 'checkpoint-keys.json')
  const secret = join(directory, 'secret')
  const saved = await readFile(keyring)
  const adviceWithout = async (path: string): Promise<string | undefined> => {
    await rm(path)
    const { stdout } = await ends(0, runCli(['fsck', '--data-dir', directory]))
    return /: nothing differs\nThe server will not start without (.*): restore what is missing from a backup\n$/.exec(
      stdout,
    )?.[1]
  }
  assert.equal(await adviceWithout(keyring), keyring)
  assert.equal(await adviceWithout(secret), `${secret} and ${keyring}`)
  await writeFile(keyring, saved)
  await writeFile(secret, '')
  assert.equal(await adviceWithout(secret), secret)
})

it('verifies the tokens of stamps and the proofs of anchors, and compares them with what they stamp', async (t) => {
  const registry = await RunningRegistry.start(t)
  await registry.create('e-0')
  await registry.anchored('e-0')
  await registry.server.stop()
  const { directory } = registry
  const args = ['fsck', '--data-dir', directory]
  assert.equal((await runCli(args)).code, 0)

  const records = () => openLevelRecords(join(directory, 'records'))
  /** Changes a record that fits, checks the store, and restores the record. */
  const withChange = async (prefix: string, change: (text: string) => string): Promise<string> => {
    const store = await records()
    const [entry] = await listAll(store, { gte: prefix, lt: `${prefix}~` })
    assert.ok(entry, `no record ${prefix}`)
    const before = Buffer.from(entry.value).toString()
    assert.notEqual(change(before), before, prefix)
    await store.commit({ writes: [{ key: entry.key, value: Buffer.from(change(before)) }] })
    await store.close()
    const { stdout } = await ends(1, runCli([...args, '--json']))
    const again = await records()
    await again.commit({ writes: [{ key: entry.key, value: entry.value }] })
    await again.close()
    return stdout
  }
  const later = (text: string): string =>
    text.replace(/"genTime":(\d)/, (_, digit: string) => `"genTime":${Number(digit) + 1}`)
  const stamp = await withChange('st/', later)
  const [line = '', ...others] = stamp.trim().split('\n')
  const { difference } = JSON.parse(line) as { readonly difference: Readonly<Record<string, string>> }
  assert.equal(difference['kind'], 'stamp')
  assert.match(difference['message'] ?? '', /the token has another time/)
  const { result } = JSON.parse(others.at(-1) ?? '') as { readonly result: { readonly differences: number } }
  assert.equal(result.differences, 1)
  const serial = (text: string): string => text.replace(/"serialNumber":"(\w)/, '"serialNumber":"7$1')
  assert.match(await withChange('st/', serial), /the token has another serial number/)
  const time = (text: string): string =>
    text.replace(/"blockTime":(\d)/, (_, digit: string) => `"blockTime":${Number(digit) + 1}`)
  assert.match(await withChange('an/', time), /"kind":"anchor".*the proof is of another block/)

  // The ledger without its last block still verifies as a ledger.
  const path = join(directory, 'ledger', 'blocks.jsonl')
  const ledger = await readFile(path, 'utf8')
  await writeFile(path, ledger.replace(/[^\n]*\n$/, ''))
  const { stdout } = await runCli(args)
  assert.match(stdout, /^anchor: an\/.*: It is confirmed, but the local ledger ends before it$/m)
  await writeFile(path, ledger)
  assert.equal((await runCli(args)).code, 0)
})
