import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { it } from 'node:test'
import { fromBase64, toBase64 } from '../../../core/bytes.ts'
import type { StampPeriod } from '../../../core/log/records.ts'
import { isStampHistory, type FirstStamp } from '../../../core/ops/trust-history.ts'
import { authorityNamed, derOf } from '../../support/test-authority.ts'

const base64Of = async (name: string): Promise<string> => toBase64(derOf((await authorityNamed(name)).certificate))

function hashOf(base64: string): string {
  const { publicKey } = new X509Certificate(fromBase64(base64) ?? new Uint8Array())
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex')
}

const tokenOf = (authority: string, root: string): FirstStamp['token'] => ({
  authority,
  assurance: 'independent',
  genTime: 0,
  serialNumber: '01',
  policy: '1.2',
  hashAlgorithm: 'sha256',
  imprint: '',
  token: '',
  trustAnchors: [hashOf(root)],
  evidence: [],
})

it('the CA of the embedded authority is its own issuer, also if one of its two names was changed', async () => {
  const root = await base64Of('root')
  const renamed = Buffer.from(root, 'base64')
  const name = /CN=(.*)/.exec(new X509Certificate(renamed).subject)?.[1] ?? ''
  renamed.write('x', renamed.lastIndexOf(name))
  for (const [anchor, isRight] of [[root, true] as const, [renamed.toString('base64'), false] as const]) {
    const token = tokenOf('local', root)
    const stamp = { size: 4, checkpoint: '', tokens: [token], beganAt: 0, quorum: 1 }
    const period = { from: 1, quorum: 1, authorities: [{ name: 'local', trustAnchors: [anchor] }], entry: 'e' }
    const check = (): boolean => isStampHistory([period], new Map([['e', { stamp, token }]]))
    if (isRight) assert.equal(check(), true)
    else assert.throws(check, RangeError)
  }
})

it('a stamp history is that of the stamps: verifiers pin its authorities', async () => {
  const [root, other] = [await base64Of('root'), await base64Of('other')]
  const token = tokenOf('a', root)
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
