import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, verify } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { verifyLedger } from '../../../adapters/local-ledger/index.ts'
import { encodeUtf8 } from '../../../core/bytes.ts'
import { createNoteSigner } from '../../../core/log/note.ts'
import {
  assertSigned,
  blockHash,
  formatBlock,
  parseBlock,
  signedBytes,
  transactionOf,
} from '../../../core/verify/chain/ledger-block.ts'
import { input, ledgerDirectory, send } from '../../support/ledger-directory.ts'

/** SHA-256 of the parts as documented: a text is a tag padded with zeros to 16 bytes, a number is 8 bytes. */
function hashOf(...parts: readonly (string | number | Uint8Array)[]): Buffer {
  const hash = createHash('sha256')
  for (const part of parts) {
    if (typeof part === 'string') hash.update(Buffer.alloc(16).fill(part, 0, part.length))
    else if (typeof part === 'number') hash.update(Buffer.from(part.toString(16).padStart(16, '0'), 'hex'))
    else hash.update(part)
  }
  return hash.digest()
}

const OPENING_LINE =
  /^\{"version":1,"genesis":\d+,"blockTimeMs":1000,"publicKey":"\w{64}","hash":"\w{64}","signature":"[\w+/]{86}=="\}$/
const TRANSACTION = String.raw`\{"hash":"\w{64}","nonce":"\w{32}","input":"[\w+/]+=*"\}`
const BLOCK_LINE = new RegExp(
  String.raw`^\{"height":\d+,"time":\d+,"previous":"\w{64}","transactions":\[${TRANSACTION}\],` +
    String.raw`"hash":"\w{64}","signature":"[\w+/]{86}=="\}$`,
)

interface BlockLine {
  readonly height: number
  readonly time: number
  readonly transactions: readonly { readonly hash: string; readonly nonce: string; readonly input: string }[]
  readonly previous: string
  readonly hash: string
  readonly signature: string
}

const bytesOf = (hex = ''): Buffer => Buffer.from(hex, 'hex')

describe('the lines of a ledger', () => {
  test('follow the documented hash and signature formulas', async (t) => {
    const { open, lines, clock, publicKey } = await ledgerDirectory(t)
    const genesis = clock.now()
    const ledger = await open()
    clock.set(genesis + 7000)
    const checkpoint = input()
    const { ref, raw } = await send(ledger, checkpoint)
    await Promise.all([send(ledger), send(ledger)])

    const [first, ...rest] = await lines()
    assert.match(first ?? '', OPENING_LINE)
    for (const line of rest) assert.match(line, BLOCK_LINE)
    const opening = JSON.parse(first ?? '') as { publicKey: string; hash: string; signature: string }
    assert.equal(opening.hash, hashOf('er1.ledger.open', genesis, 1000, bytesOf(opening.publicKey)).toString('hex'))
    const key = await publicKey()
    const signed = (hash: string): Buffer => Buffer.concat([Buffer.from('er1.ledger.sign\0'), bytesOf(hash)])
    assert.ok(verify(null, signed(opening.hash), key, Buffer.from(opening.signature, 'base64')))

    let previous = opening.hash
    for (const line of rest) {
      const block = JSON.parse(line) as BlockLine
      for (const { hash, nonce, input: text } of block.transactions)
        assert.equal(hash, hashOf('er1.ledger.tx', bytesOf(nonce), Buffer.from(text, 'base64')).toString('hex'))
      assert.equal(block.previous, previous)
      const hashes = Buffer.concat(block.transactions.map(({ hash }) => bytesOf(hash)))
      const expected = hashOf('er1.ledger.block', block.height, block.time, bytesOf(block.previous), hashes)
      assert.equal(block.hash, expected.toString('hex'))
      assert.ok(verify(null, signed(block.hash), key, Buffer.from(block.signature, 'base64')))
      previous = block.hash
    }

    const block = JSON.parse(rest[0] ?? '') as BlockLine
    assert.deepEqual([block.height, block.time], [7, genesis + 7000])
    assert.equal(block.transactions[0]?.hash, ref)
    assert.equal(ref, createHash('sha256').update(raw).digest('hex'))
    assert.deepEqual(new Uint8Array(Buffer.from(block.transactions[0]?.input ?? '', 'base64')), checkpoint)
  })

  test('are the proof of a confirmed anchor', async (t) => {
    const { open, lines, clock } = await ledgerDirectory(t)
    const ledger = await open()
    const { ref } = await send(ledger)
    clock.set(clock.now() + 10_000)
    const [status] = await ledger.status([{ ref }])
    assert.ok(status?.state === 'confirmed' && status.settled)
    assert.equal(Buffer.from(status.proof).toString(), (await lines())[1])
    const { hash, height, time } = parseBlock(status.proof)
    assert.deepEqual([hash, height, time], [status.blockHash, status.blockNumber, status.blockTime])
  })

  test('do not verify with a flipped bit, other members or another form', async (t) => {
    const { open, lines, account } = await ledgerDirectory(t)
    await send(await open(), new Uint8Array(30))
    const key = await account()
    const line = encodeUtf8((await lines())[1] ?? '')
    assertSigned(parseBlock(line), key)
    const assertRejected = (bytes: Uint8Array): void =>
      assert.throws(() => assertSigned(parseBlock(bytes), key), { code: 'VERIFICATION_FAILED' })
    for (let at = 0; at < line.length; at += 1) assertRejected(line.with(at, (line[at] ?? 0) ^ (1 << (at % 8))))
    const text = Buffer.from(line).toString()
    for (const changed of [
      `${text}\n`,
      ` ${text}`,
      text.replace('{', '{"note":"x",'),
      text.replace('"height":1', '"height":1,"height":1'),
      text.replace('"height":1', '"height":1.0'),
      text.replace(/"transactions":\[.*\]/, '"transactions":[]'),
      text.replace(/\[(.*)\]/, '[$1,$1]'),
      text.replace(/\[(.*)\]/, '[null]'),
      'null',
      '[]',
      '',
    ])
      assertRejected(encodeUtf8(changed))
  })
})

describe('verifyLedger', () => {
  test('returns the number of blocks, the last one and its input', async (t) => {
    const { open, blocks, publicKey } = await ledgerDirectory(t)
    const ledger = await open()
    const empty = await verifyLedger(blocks, await publicKey())
    assert.deepEqual([empty.blocks, empty.tip.height, empty.newestInput], [0, 0, undefined])
    const checkpoints = [input(), input(), input()]
    for (const checkpoint of checkpoints) await send(ledger, checkpoint)
    const whole = await verifyLedger(blocks, await publicKey())
    assert.deepEqual([whole.blocks, whole.tip.height, whole.newestInput], [3, 3, checkpoints.at(-1)])
  })

  test('names the line that does not verify, also if only its signature is wrong', async (t) => {
    const { open, blocks, lines, publicKey } = await ledgerDirectory(t)
    const ledger = await open()
    for (let i = 0; i < 3; i += 1) await send(ledger)
    await ledger.close()
    const key = await publicKey()
    const good = await lines()
    const signature = /"signature":.*$/
    const foreign = good[2]?.replace(signature, signature.exec(good[1] ?? '')?.[0] ?? '') ?? ''
    const cases: readonly [string, RegExp][] = [
      [`${good.with(2, foreign).join('\n')}\n`, /Line 3 /],
      [`${good.toSpliced(1, 1).join('\n')}\n`, /Line 2 /],
      [good.join('\n'), /Line 4 /],
      [`${good.join('\n')}\n{"height"`, /Line 5 /],
      ['', /Line 1 /],
    ]
    for (const [text, lineNumber] of cases) {
      await writeFile(blocks, text)
      await assert.rejects(verifyLedger(blocks, key), { code: 'VERIFICATION_FAILED', message: lineNumber })
    }
    await writeFile(blocks, `${good.join('\n')}\n`)
    for (const { publicKey: other } of [
      generateKeyPairSync('ed25519'),
      generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    ])
      await assert.rejects(verifyLedger(blocks, other), { code: 'VERIFICATION_FAILED', message: /Line 1 / })
  })
})

test('verifyLedger rejects well-signed blocks with a wrong previous hash, height or time', async (t) => {
  const { directory, open, blocks, lines, clock, publicKey } = await ledgerDirectory(t)
  const ledger = await open()
  clock.set(clock.now() + 5000)
  await send(ledger)
  await ledger.close()
  const signer = createNoteSigner('ledger', await readFile(join(directory, 'ledger.key')))
  const good = await lines()
  const last = parseBlock(encodeUtf8(good[1] ?? ''))
  const transactions = [transactionOf(new Uint8Array(16), input())]
  const next = { height: 6, time: last.time, previous: last.hash, transactions }
  const append = async (content: typeof next): Promise<void> => {
    const hash = blockHash(content)
    const line = formatBlock({ ...content, hash, signature: signer.sign(signedBytes(hash)) })
    await writeFile(blocks, `${[...good, Buffer.from(line).toString()].join('\n')}\n`)
  }
  await append(next)
  assert.equal((await verifyLedger(blocks, await publicKey())).blocks, 2)
  for (const [wrong, reason] of [
    [{ height: 5 }, /height does not follow/],
    [{ time: last.time - 1 }, /time does not follow/],
    [{ previous: last.previous }, /hash does not follow/],
  ] as const) {
    await append({ ...next, ...wrong })
    await assert.rejects(verifyLedger(blocks, await publicKey()), { code: 'VERIFICATION_FAILED', message: reason })
    await assert.rejects(open(), { code: 'CORRUPT', message: reason })
  }
})
