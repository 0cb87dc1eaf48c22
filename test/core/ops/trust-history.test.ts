import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { it } from 'node:test'
import { fromBase64, toBase64 } from '../../../core/bytes.ts'
import type { StampPeriod } from '../../../core/log/records.ts'
import { isStampHistory, type FirstStamp } from '../../../core/ops/check/trust-history.ts'
import { stampToken } from '../../support/stamp-token.ts'
import { authorityNamed, derOf } from '../../support/test-authority.ts'

const base64Of = async (name: string): Promise<string> => toBase64(derOf((await authorityNamed(name)).certificate))

function hashOf(base64: string): string {
  const { publicKey } = new X509Certificate(fromBase64(base64) ?? new Uint8Array())
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex')
}

/** The certificate of a self-signed CA, one of whose two equal names was changed. */
function renamed(base64: string): string {
  const der = Buffer.from(base64, 'base64')
  const name = /CN=(.*)/.exec(new X509Certificate(der).subject)?.[1] ?? ''
  der.write('x', der.lastIndexOf(name))
  return der.toString('base64')
}

const sha256 = (base64: string): string => createHash('sha256').update(base64, 'base64').digest('hex')

it('finds a CA of which one of two equal names was changed', async () => {
  const root = await base64Of('root')
  const isRight = (authority: string, anchor: string): boolean => {
    // What an RFC 3161 authority stores with its tokens. The embedded one stores nothing.
    const evidence = authority === 'local' ? [] : [{ type: 'certificate' as const, sha256: sha256(root) }]
    const token = stampToken({ authority, trustAnchors: [hashOf(root)], evidence })
    const stamp = { size: 4, checkpoint: '', tokens: [token], beganAt: 0, quorum: 1 }
    const period = { from: 1, quorum: 1, authorities: [{ name: authority, trustAnchors: [anchor] }], entry: 'e' }
    return isStampHistory([period], new Map([['e', { stamp, token }]]))
  }
  for (const authority of ['local', 'tsa.example']) assert.equal(isRight(authority, root), true)
  assert.throws(() => isRight('local', renamed(root)), RangeError)
  assert.equal(isRight('tsa.example', renamed(root)), false)
})

it('a stamp history is that of the stamps: verifiers pin its authorities', async () => {
  const [root, other] = [await base64Of('root'), await base64Of('other')]
  const token = stampToken({ trustAnchors: [hashOf(root)] })
  const stampOf = (size: number): FirstStamp => ({
    stamp: { size, checkpoint: '', tokens: [token], beganAt: 0, quorum: 1 },
    token,
  })
  const firsts = new Map([
    ['e1', stampOf(4)],
    ['e2', stampOf(9)],
  ])
  const first: StampPeriod = { from: 1, quorum: 1, authorities: [{ name: 'a', trustAnchors: [root] }], entry: 'e1' }
  const second: StampPeriod = { ...first, from: 9, entry: 'e2' }
  const isRight = (...periods: readonly StampPeriod[]): boolean => {
    try {
      return isStampHistory(periods, firsts)
    } catch {
      return false
    }
  }
  assert.equal(isRight(first, second), true)
  const withAnchor = (...trustAnchors: readonly string[]): StampPeriod => ({
    ...first,
    authorities: [{ name: 'a', trustAnchors }],
  })
  for (const period of [
    { ...first, from: 2 },
    { ...first, quorum: 2 },
    { ...first, entry: 'e3' },
    { ...first, authorities: [{ name: 'b', trustAnchors: [root] }] },
    withAnchor(),
    withAnchor(other),
    withAnchor(root, `${other.slice(0, -8)}AAAA${other.slice(-4)}`),
    withAnchor(`${root}AAAA`),
  ])
    assert.equal(isRight(period, second), false, JSON.stringify(period))
  assert.equal(isRight(first, { ...second, from: 8 }), false)
})
