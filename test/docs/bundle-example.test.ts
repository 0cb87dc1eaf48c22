import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import type { Bundle } from '../../core/index.ts'
import { parsePolicy, verifyBundle } from '../../core/verify/index.ts'

/** The example of the specification. Its values are computed here with nothing of ours but the text. */
const PAGE = readFileSync('core/SPECIFICATION.md', 'utf8')
const text = /```json\n([^]*?)```/.exec(PAGE)?.[1] ?? ''
const bundle = JSON.parse(text) as Bundle

const hash = (...parts: readonly (string | Uint8Array)[]): Buffer => {
  const sha256 = createHash('sha256')
  for (const part of parts) sha256.update(part)
  return sha256.digest()
}
const tag = (name: string): string => name.padEnd(16, '\0')
const bytes = (hex = ''): Buffer => Buffer.from(hex, 'hex')

/** The value of the row that begins with this text. */
const valueOf = (row: string): string | undefined =>
  PAGE.split('\n')
    .find((line) => line.startsWith(`| ${row}`))
    ?.split('|')[2]
    ?.trim()
    .replaceAll('`', '')

describe('the example of the bundle format', () => {
  it('verifies, and shows what it says', () => {
    const result = verifyBundle(text, { policy: parsePolicy(JSON.stringify(bundle.claimedPolicy)) })
    assert.ok(result.state === 'proven')
    const [event] = result.claims.events
    assert.equal(event?.fields.get('owner'), 'Ada')
    const shown = [...(event?.files.values() ?? [])].map((file) => 'size' in file && file.size)
    assert.deepEqual(shown, [7])
    assert.equal(verifyBundle(text.replace('Ada', 'Eve'), {}).state, 'refuted')
  })

  it('has the values of its table', () => {
    const [event] = bundle.events
    const [owner, file] = [event?.fields?.['owner'], Object.values(event?.files ?? {})[0]]
    assert.ok(event !== undefined && owner !== undefined && file !== undefined)
    const [txId, key] = [hash(bytes(event.opening)), hash(bytes(bundle.keys[0]?.opening))]
    const [keyLeaf, eventLeaf] = [key, txId].map((entry) => hash(Uint8Array.of(0), entry)) as [Buffer, Buffer]
    const expected: Readonly<Record<string, Buffer>> = {
      txId: txId,
      time: bytes(event.opening).subarray(48, 56),
      'H(T("er1.header")': hash(tag('er1.header'), event.header ?? ''),
      'H(T("er1.files")': hash(tag('er1.files'), bytes(event.filesSalt), event.filesText ?? ''),
      'H(T("er1.field")': hash(tag('er1.field'), bytes(owner.salt), owner.text),
      'H(T("er1.file") ': hash(tag('er1.file'), bytes(file.salt), file.text),
      'entry of the key': key,
      'leaf of the key': keyLeaf,
      'leaf of the event': eventLeaf,
      'root ': hash(Uint8Array.of(1), keyLeaf, eventLeaf),
    }
    for (const [row, value] of Object.entries(expected)) assert.equal(valueOf(row), value.toString('hex'), row)
    assert.equal(new Date(Number(BigInt(`0x${valueOf('time')}`))).toISOString(), '2026-01-01T00:00:00.000Z')
    assert.equal(bundle.checkpoints[0]?.note.split('\n')[2], expected['root ']?.toString('base64'))
  })
})
