import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { boundaryOf, FormSyntax } from '../../../server/http/form-syntax.ts'

const HEAD = '\r\nContent-Disposition: form-data; name="a"\r\n\r\n'

/** Whether a form is refused, however its bytes arrive. */
function isRefused(form: string, contentType = 'multipart/form-data; boundary=b-b'): boolean {
  const bytes = Buffer.from(form, 'latin1')
  const outcomes = Array.from({ length: bytes.length + 1 }, (_, size) => {
    const syntax = new FormSyntax(boundaryOf(contentType) ?? '')
    try {
      for (let at = 0; at < bytes.length; at += size || bytes.length)
        syntax.check(bytes.subarray(at, at + (size || bytes.length)))
      return false
    } catch {
      return true
    }
  })
  assert.equal(new Set(outcomes).size, 1, JSON.stringify(form))
  return outcomes[0] === true
}

describe('the syntax of a form', () => {
  it('accepts delimiters that a line feed or two hyphens follow, and other lines behind the closing one', () => {
    for (const form of [
      `--b-b${HEAD}x\r\n--b-b${HEAD}y\r\n--b-b--\r\n`,
      `--b-b\r\n\r\n\r\n--b-b${HEAD}\r\n--b-\r\n--b\r\n\r\n--b-b--\r\n--b- \r\n`,
      `--b-b${HEAD}x\r\n--b-b-- \t\r\nepilogue`,
      `--b-b${HEAD}x--b-b \r\n--b-b${HEAD}\n--b-b \r--b-bx--b-b-\r\n--b-b--`,
      `--b-b${HEAD}x\r\n--b-b`,
      `\r\n--b-b${HEAD}x\r\n--b-b--\r\n`,
      `\r\n\r\n\r\n--b-b${HEAD}x\r\n--b-b--\r\n`,
    ])
      assert.equal(isRefused(form), false)
    assert.equal(isRefused('--b b\r\n\r\n--b b--', 'multipart/form-data; charset=utf-8; Boundary="b b"'), false)
  })

  it('refuses parts and delimiters behind the closing boundary, which would be lost', () => {
    for (const more of [
      '- a rule of dashes\r\n',
      '-',
      'x',
      `\r\n--b-b${HEAD}y\r\n--b-b--`,
      '\r\nrest\r\n--b-b--',
      '\n\r\n--b-b',
    ])
      assert.equal(isRefused(`--b-b${HEAD}x\r\n--b-b--${more}`), true, more)
  })

  it('refuses lines in the headers of a part without a name and colon, and two headers of one name', () => {
    for (const lines of [
      'x',
      ': x',
      ' x',
      'Content-disposition: form-data; name="b"',
      'X: 1\r\nx: 2',
      `X: ${'x'.repeat(16_384)}`,
    ])
      assert.equal(isRefused(`--b-b\r\nContent-Disposition: form-data; name="a"\r\n${lines}\r\n\r\nx\r\n--b-b--`), true)
  })

  it('refuses a form that begins with anything else, which would be lost', () => {
    for (const first of ['preamble\r\n', '\n', '\r\r\n', '\r\n\n', `${HEAD.slice(2)}x\r\n`])
      assert.equal(isRefused(`${first}--b-b${HEAD}x\r\n--b-b--`), true)
  })

  it('refuses those that anything else follows', () => {
    for (const more of [' \r\n', '\t\r\n', '\n', '\rx', '-x', 'x', '\0', '-\r\n--b-b--'])
      for (const form of [
        `--b-b${more}`,
        `--b-b${HEAD}x\r\n--b-b${more}`,
        `--b-b${HEAD}\r\n\r\n--b-b${more}\r\n--b-b--`,
      ])
        assert.equal(isRefused(`${form}ab`), true)
  })
})
