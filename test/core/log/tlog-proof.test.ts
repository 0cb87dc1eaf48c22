import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { formatTlogProof, parseTlogProof } from '../../../core/log/tlog-proof.ts'
import { TLOG_PROOF as VECTOR } from '../../support/tlog-proof-example.ts'

const withLine = (from: string | RegExp, to: string): string => {
  const changed = VECTOR.replace(from, to)
  assert.notEqual(changed, VECTOR)
  return changed
}

describe('a tlog-proof', () => {
  it('is written and read as C2SP specifies', () => {
    assert.equal(
      createHash('sha256').update(VECTOR).digest('hex'),
      'cfe88075b8ccc983f1366f931f025ed6a14e755da2097605734d0fbb0b960590',
    )
    const proof = parseTlogProof(VECTOR)
    assert.deepEqual([proof.index, proof.extra?.length, proof.path.length], [1, 120, 1])
    assert.equal(proof.checkpoint, VECTOR.slice(VECTOR.indexOf('\n\n') + 2))
    assert.equal(formatTlogProof(proof), VECTOR)
    const { extra: _, ...bare } = proof
    assert.deepEqual(parseTlogProof(formatTlogProof(bare)), { ...bare, extra: undefined })
  })

  it('of a log with one entry has no hash', () => {
    const alone = withLine(/index 1\n.*\n/, 'index 0\n').replace('demo\n2\n', 'demo\n1\n')
    assert.deepEqual(parseTlogProof(alone).path, [])
  })

  it('is refused in any other form', () => {
    const hash = /(?<=index 1\n).*(?=\n)/
    const cases: Readonly<Record<string, string>> = {
      'another version': withLine('@v1', '@v2'),
      'a byte order mark': `\uFEFF${VECTOR}`,
      'no index': withLine('index 1\n', ''),
      'an index with a leading zero': withLine('index 1', 'index 01'),
      'a negative index': withLine('index 1', 'index -1'),
      'extra after the index': withLine(/(extra .*\n)(index 1\n)/, '$2$1'),
      'extra data that are not there': withLine(/extra .*/, 'extra '),
      'two lines of extra data': withLine(/(extra .*\n)/, '$1$1'),
      'base64 with other last bits': withLine(/CA=(?=\n\n)/, 'CB='),
      'base64 without padding': withLine(/CA=(?=\n\n)/, 'CA'),
      'base64 of URLs': withLine('6493iY', '6493i-'),
      'a short hash': withLine(hash, 'AAAA'),
      'a line of another kind': withLine('index 1\n', 'index 1\nmore\n'),
      'no empty line': withLine('\n\n', '\n'),
      'carriage returns': VECTOR.replaceAll('\n', '\r\n'),
      'a carriage return in the checkpoint': withLine('demo\n2', 'demo\r\n2'),
      'no last line feed': VECTOR.slice(0, -1),
      'no checkpoint': VECTOR.slice(0, VECTOR.indexOf('\n\n') + 2),
      'a long line': withLine(/extra .*/, `extra ${'A'.repeat(64 * 1024)}`),
    }
    for (const [what, text] of Object.entries(cases))
      assert.throws(
        () => parseTlogProof(text),
        { code: 'VERIFICATION_FAILED', rule: /^(?:document|note|checkpoint)\./ },
        what,
      )
  })

  it('is refused with a path of another length, or of an entry that the tree does not have', () => {
    const [line = ''] = /(?<=index 1\n).*\n/.exec(VECTOR) ?? []
    for (const text of [
      withLine(line, ''),
      withLine(line, line + line),
      withLine('index 1', 'index 2'),
      withLine('index 1', 'index 9999999999999999'),
    ])
      assert.throws(() => parseTlogProof(text), { rule: 'inclusion.root-differs' }, text)
  })
})
