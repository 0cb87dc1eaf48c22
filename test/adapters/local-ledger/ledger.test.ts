import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { appendFile, copyFile, readFile, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openLocalLedger, verifyLedger } from '../../../adapters/local-ledger/index.ts'
import type { AnchorStatus } from '../../../core/ports/index.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { filesBelow } from '../../support/temporary.ts'
import { input, ledgerDirectory, send } from '../../support/ledger-directory.ts'

type InBlock = Extract<AnchorStatus, { state: 'included' | 'confirmed' }>

function inBlock(status: AnchorStatus | undefined): InBlock {
  assert.ok(status?.state === 'included' || status?.state === 'confirmed', `the state is ${status?.state}`)
  return status
}

describe('the local ledger', () => {
  test('describes itself as the operator’s own, and creates its files', async (t) => {
    const { open, directory } = await ledgerDirectory(t)
    const { account, ...info } = (await open()).info
    assert.deepEqual(info, { type: 'local', network: 'local', chainId: 0, assurance: 'operator' })
    const pem = await readFile(join(directory, 'ledger.pub'))
    const der = createPublicKey(pem).export({ type: 'spki', format: 'der' })
    assert.equal(account, der.subarray(-32).toString('hex'))
    assert.deepEqual(await filesBelow(directory), ['blocks.jsonl', 'ledger.key', 'ledger.pub'])
    assert.equal((await stat(join(directory, 'ledger.key'))).mode & 0o777, 0o600)
    assert.match(await readFile(join(directory, 'ledger.pub'), 'utf8'), /^-----BEGIN PUBLIC KEY-----/)
  })

  test('grows with time: height, block time, and confirmations including its own block', async (t) => {
    const { open, clock } = await ledgerDirectory(t)
    const genesis = clock.now()
    const ledger = await open({ blockTimeMs: 500, confirmations: 4 })
    clock.set(genesis + 10_250)
    const { ref } = await send(ledger)
    const states: unknown[] = []
    for (const elapsedMs of [10_250, 10_499, 10_500, 11_499, 11_500, 60_000]) {
      clock.set(genesis + elapsedMs)
      const { state, blockNumber, blockTime, confirmations } = inBlock((await ledger.status([{ ref }]))[0])
      assert.equal(blockNumber, 20)
      assert.equal(blockTime, genesis + 10_250)
      states.push([state, confirmations])
    }
    assert.deepEqual(states, [
      ['included', 1],
      ['included', 1],
      ['included', 2],
      ['included', 3],
      ['confirmed', 4],
      ['confirmed', 101],
    ])
  })

  test('writes a block for each transaction, at its own height, also if they arrive together', async (t) => {
    const { open, clock, lines } = await ledgerDirectory(t)
    const ledger = await open()
    clock.set(clock.now() + 100_000)
    const sent = await Promise.all([send(ledger), send(ledger), send(ledger)])
    const heights = (await ledger.status(sent)).map((status) => inBlock(status).blockNumber)
    assert.deepEqual(
      heights.toSorted((a, b) => a - b),
      [100, 101, 102],
    )
    assert.equal((await lines()).length, 4)
  })

  test('never lowers heights, block times or confirmations if its clock goes back', async (t) => {
    const { open, clock } = await ledgerDirectory(t)
    const ledger = await open()
    const start = clock.now()
    clock.set(start + 50_000)
    const first = await send(ledger)
    clock.set(start + 51_000)
    const before = inBlock((await ledger.status([first]))[0])
    for (const earlier of [start + 20_000, start - 1_000_000]) {
      clock.set(earlier)
      assert.deepEqual(inBlock((await ledger.status([first]))[0]), before)
      const { ref } = await send(ledger)
      const later = inBlock((await ledger.status([{ ref }]))[0])
      assert.ok(later.blockNumber > before.blockNumber)
      assert.ok(later.blockTime >= before.blockTime)
      assert.ok(inBlock((await ledger.status([first]))[0]).confirmations >= before.confirmations)
      clock.set(start + 51_000)
    }
    await ledger.close()
    clock.set(start - 1_000_000)
    const again = await open()
    assert.equal(inBlock((await again.status([first]))[0]).blockNumber, before.blockNumber)
    const last = inBlock((await again.status([await send(again)]))[0])
    assert.ok(last.blockNumber > before.blockNumber && last.blockTime >= before.blockTime)
  })

  test('confirms with the time that passes if its clock was ahead at the start, or at the last block', async (t) => {
    const { open, clock } = await ledgerDirectory(t)
    const start = clock.now()
    clock.set(start + 1e11)
    let ledger = await open()
    for (const begin of [start, start + 7_200_000, start + 7_000_000]) {
      clock.set(begin)
      const sent = [await send(ledger)]
      assert.equal((await ledger.status(sent))[0]?.state, 'included')
      clock.set(begin + 3_000)
      assert.equal((await ledger.status(sent))[0]?.state, 'confirmed')
      await ledger.close()
      ledger = await open()
    }
  })

  test('accepts only bytes that it prepared: VALIDATION_ERROR for others and for too many', async (t) => {
    const { open, lines } = await ledgerDirectory(t)
    const ledger = await open()
    const { raw } = await ledger.prepare({ checkpoint: input() })
    for (const bytes of [new Uint8Array(), new Uint8Array(300), raw.subarray(0, 31), raw.with(0, 0)])
      await assert.rejects(ledger.broadcast(bytes), { code: 'VALIDATION_ERROR' })
    await assert.rejects(ledger.prepare({ checkpoint: new Uint8Array(16_385) }), { code: 'VALIDATION_ERROR' })
    const whole = await ledger.prepare({ checkpoint: new Uint8Array(16_384) })
    await assert.rejects(ledger.broadcast(new Uint8Array([...whole.raw, 0])), { code: 'VALIDATION_ERROR' })
    assert.equal((await lines()).length, 1)
    await ledger.broadcast(whole.raw)
  })

  test('copies the bytes it receives', async (t) => {
    const { open, blocks, publicKey } = await ledgerDirectory(t)
    const ledger = await open()
    const { ref, raw } = await ledger.prepare({ checkpoint: input() })
    const sending = ledger.broadcast(raw)
    raw.fill(0)
    await sending
    assert.equal(inBlock((await ledger.status([{ ref }]))[0]).state, 'included')
    await verifyLedger(blocks, await publicKey())
  })

  test('completes a running write when it is closed', async (t) => {
    const { open } = await ledgerDirectory(t)
    const ledger = await open()
    const { ref, raw } = await ledger.prepare({ checkpoint: input() })
    const sending = ledger.broadcast(raw)
    await ledger.close()
    await sending
    assert.equal(inBlock((await (await open()).status([{ ref }]))[0]).state, 'included')
  })
})

describe('the local ledger does not open', () => {
  test('with invalid settings or another block time: CONFIG_ERROR', async (t) => {
    const { open, directory } = await ledgerDirectory(t)
    const clock = new ManualClock()
    for (const wrong of [{ blockTimeMs: 0 }, { blockTimeMs: 1.5 }, { confirmations: 0 }, { confirmations: Number.NaN }])
      await assert.rejects(openLocalLedger(directory, { clock, ...wrong }), { code: 'CONFIG_ERROR' })
    const ledger = await open()
    await ledger.close()
    await assert.rejects(open({ blockTimeMs: 2000 }), { code: 'CONFIG_ERROR', message: /1000 ms/ })
  })

  test('without its key: CONFIG_ERROR, and no new key is created', async (t) => {
    const { open, directory } = await ledgerDirectory(t)
    await (await open()).close()
    await unlink(join(directory, 'ledger.key'))
    await assert.rejects(open(), { code: 'CONFIG_ERROR' })
    assert.deepEqual(await filesBelow(directory), ['blocks.jsonl', 'ledger.pub'])
  })

  test('with the key of another ledger, or a file that is not a key: CORRUPT', async (t) => {
    const [one, other] = [await ledgerDirectory(t), await ledgerDirectory(t)]
    await (await one.open()).close()
    await (await other.open()).close()
    await copyFile(join(other.directory, 'ledger.key'), join(one.directory, 'ledger.key'))
    await assert.rejects(one.open(), { code: 'CORRUPT' })
    await writeFile(join(one.directory, 'ledger.key'), new Uint8Array(33))
    await assert.rejects(one.open(), { code: 'CORRUPT' })
  })

  test('if the directory is a file: CONFIG_ERROR', async (t) => {
    const { directory, open } = await ledgerDirectory(t)
    await writeFile(directory, '')
    await assert.rejects(open(), { code: 'CONFIG_ERROR' })
  })
})

test('a second writer of the file is detected before anything is written', async (t) => {
  const { open, blocks, lines } = await ledgerDirectory(t)
  const ledger = await open()
  await send(ledger)
  const own = await lines()
  await appendFile(blocks, 'other process\n')
  await assert.rejects(send(ledger), { code: 'ANCHOR_FAILED', message: /Another process/ })
  assert.deepEqual(await lines(), [...own, 'other process'])
})
