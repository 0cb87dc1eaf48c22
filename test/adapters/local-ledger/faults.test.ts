import assert from 'node:assert/strict'
import { appendFile, readFile, truncate, writeFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { verifyLedger } from '../../../adapters/local-ledger/index.ts'
import { isRegistryError } from '../../../core/errors.ts'
import { failEachCall, FaultyFiles, type Operation } from '../../support/faulty-files.ts'
import { filesBelow } from '../../support/temporary.ts'
import { input, ledgerDirectory, send } from '../../support/ledger-directory.ts'

describe('a last line that a crash cut short', () => {
  test('is removed when the ledger is opened, and its transaction can be sent again', async (t) => {
    const { open, blocks, publicKey } = await ledgerDirectory(t)
    const ledger = await open()
    const first = await send(ledger)
    const before = await readFile(blocks)
    const second = await send(ledger)
    await ledger.close()
    const after = await readFile(blocks)
    for (let end = before.length + 1; end < after.length; end += 53) {
      await writeFile(blocks, after.subarray(0, end))
      const repaired = await open()
      assert.deepEqual(await readFile(blocks), before)
      assert.deepEqual(await readFile(`${blocks}.cut`), after.subarray(before.length, end))
      const states = (await repaired.status([first, second])).map(({ state }) => state)
      assert.deepEqual(states, ['included', 'unknown'])
      await repaired.broadcast(second.raw)
      await repaired.close()
      assert.equal((await verifyLedger(blocks, await publicKey())).blocks, 2)
    }
  })

  test('is removed if only its line feed is missing, or if the disk left zeros, and nothing else is', async (t) => {
    const { open, blocks } = await ledgerDirectory(t)
    const ledger = await open()
    await send(ledger)
    await ledger.close()
    const before = await readFile(blocks)
    for (const tail of ['', '\0'.repeat(5000), `${'\0'.repeat(300)}"}\n`, before.toString().split('\n')[1] ?? '']) {
      await appendFile(blocks, tail)
      await (await open()).close()
      assert.deepEqual(await readFile(blocks), before)
    }
  })
})

describe('a line that was changed throws CORRUPT, and the file stays as it is', () => {
  const withSignatureOf = (line = '', other = ''): string =>
    line.replace(/"signature":.*$/, /"signature":.*$/.exec(other)?.[0] ?? '')
  const damages: readonly [string, (lines: string[]) => string[], RegExp][] = [
    ['a damaged line in the middle', (lines) => lines.with(2, lines[2]?.slice(0, 40) ?? ''), /Line 3/],
    [
      'an edited line in the middle',
      (lines) => lines.with(2, lines[2]?.replace('"time":1', '"time":2') ?? ''),
      /Line 3/,
    ],
    ['an edited last line', (lines) => lines.with(3, lines[3]?.replace('"time":1', '"time":2') ?? ''), /Line 4/],
    ['a missing line', (lines) => lines.toSpliced(2, 1), /Line 3/],
    ['a duplicate line', (lines) => lines.toSpliced(2, 0, lines[2] ?? ''), /Line 4/],
    ['an empty line', (lines) => lines.toSpliced(2, 0, ''), /Line 3/],
    ['a line that is longer than any block', (lines) => lines.toSpliced(2, 0, 'x'.repeat(100_000)), /Line 3/],
    ['a damaged opening', (lines) => lines.with(0, '{}'), /Line 1/],
    ['a missing opening', (lines) => lines.slice(1), /Line 1/],
    ['the signature of another line', (lines) => lines.with(3, withSignatureOf(lines[3], lines[2])), /Line/],
  ]
  for (const [name, damage, lineNumber] of damages)
    test(name, async (t) => {
      const { open, blocks, lines } = await ledgerDirectory(t)
      const ledger = await open()
      for (let i = 0; i < 3; i += 1) await send(ledger)
      await ledger.close()
      const text = `${damage([...(await lines())]).join('\n')}\n`
      await writeFile(blocks, text)
      await assert.rejects(open(), { code: 'CORRUPT', message: lineNumber })
      assert.equal(await readFile(blocks, 'utf8'), text)
    })

  test('an empty file', async (t) => {
    const { open, blocks } = await ledgerDirectory(t)
    await (await open()).close()
    await truncate(blocks, 0)
    await assert.rejects(open(), { code: 'CORRUPT' })
  })
})

describe('the disk fails', () => {
  test('while a block is written: it can be sent again, also after a restart, and is written once', async (t) => {
    for (const restart of [false, true]) {
      const faults = await failEachCall(['write', 'sync', 'stat'], async (plan) => {
        const { open, blocks, publicKey } = await ledgerDirectory(t)
        const faulty = new FaultyFiles()
        const ledger = await open({ files: faulty.files })
        const kept = await send(ledger)
        const { ref, raw } = await ledger.prepare({ checkpoint: input() })
        faulty.arm(plan)
        await ledger.broadcast(raw).catch(async (error: unknown) => {
          assert.ok(isRegistryError(error, 'ANCHOR_FAILED'))
          assert.equal((await ledger.status([{ ref }]))[0]?.state, 'unknown')
        })
        const hasFailed = faulty.disarm()
        if (restart) await ledger.close()
        const current = restart ? await open() : ledger
        await current.broadcast(raw)
        assert.ok((await current.status([kept, { ref }])).every(({ state }) => state === 'included'))
        assert.equal((await verifyLedger(blocks, await publicKey())).blocks, 2)
        return hasFailed
      })
      assert.ok(faults >= 6, `only ${faults} faults were injected`)
    }
  })

  test('twice, so that the rest of a failed write stays: the next write or the next start removes it', async (t) => {
    for (const restart of [false, true]) {
      const { open, blocks, publicKey, lines } = await ledgerDirectory(t)
      const faulty = new FaultyFiles()
      const ledger = await open({ files: faulty.files })
      const { ref, raw } = await ledger.prepare({ checkpoint: input() })
      for (const operation of ['sync', 'truncate'] as const) {
        faulty.arm({ operation, nth: 1, fault: 'not applied', code: 'EIO' })
        await assert.rejects(ledger.broadcast(raw), { code: 'ANCHOR_FAILED' })
        assert.ok(faulty.disarm())
      }
      // Written completely but not acknowledged: this instance does not know the block, the next one does.
      assert.equal((await lines()).length, 2)
      if (restart) await ledger.close()
      const current = restart ? await open() : ledger
      assert.equal((await current.status([{ ref }]))[0]?.state, restart ? 'included' : 'unknown')
      await current.broadcast(raw)
      assert.equal((await current.status([{ ref }]))[0]?.state, 'included')
      assert.equal((await verifyLedger(blocks, await publicKey())).blocks, 1)
    }
  })

  test('at the first start, or while a torn line is removed: the next start succeeds', async (t) => {
    const opening: readonly Operation[] = ['link', 'unlink']
    const repair: readonly Operation[] = ['rename', 'truncate']
    for (const operations of [opening, repair]) {
      const faults = await failEachCall(operations, async (plan) => {
        const { open, directory, blocks } = await ledgerDirectory(t)
        if (operations === repair) {
          await (await open()).close()
          await appendFile(blocks, '{"height":')
        }
        const faulty = new FaultyFiles()
        faulty.arm(plan)
        const first = await open({ files: faulty.files }).catch((error: unknown) => {
          assert.ok(isRegistryError(error, 'CONFIG_ERROR'))
          return undefined
        })
        const hasFailed = faulty.disarm()
        const ref = first && (await send(first)).ref
        await first?.close()
        assert.equal(faulty.openHandles, 0)
        const second = await open()
        if (ref !== undefined) assert.equal((await second.status([{ ref }]))[0]?.state, 'included')
        await send(second)
        const files = (await filesBelow(directory)).filter((name) => !name.endsWith('.cut'))
        assert.deepEqual(files, ['blocks.jsonl', 'ledger.key', 'ledger.pub'])
        return hasFailed
      })
      assert.ok(faults >= 4, `only ${faults} faults were injected`)
    }
  })
})
