import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Context } from 'koa'
import { clientNetwork } from '../../../server/http/client-network.ts'
import { createRation } from '../../../server/http/rate-limit.ts'
import { ResponseHead } from '../../../server/http/response-head.ts'

describe('clientNetwork', () => {
  const rows: readonly (readonly [what: string, network: string, ...addresses: readonly string[]])[] = [
    ['an IPv4 address', '192.0.2.1', '192.0.2.1', '192.0.2.1:4711', '::ffff:192.0.2.1', '[::ffff:c000:201]:4711'],
    [
      'a /64 network of IPv6',
      '2001:db8:0:1::/64',
      '2001:db8:0:1::',
      '2001:DB8:0:1:ffff:ffff:ffff:ffff',
      '[2001:db8:0:1::1]:1',
    ],
    ['another /64 network', '2001:db8:0:2::/64', '2001:db8:0:2::1'],
    ['an IPv4 client behind NAT64', '64:ff9b::c000:201', '64:ff9b::192.0.2.1'],
    ['another IPv4 client behind NAT64', '64:ff9b::c000:202', '64:ff9b::192.0.2.2'],
    ['a text that is not an address', 'unknown', 'unknown'],
    ['an empty text', '', ''],
  ]
  for (const [what, network, ...addresses] of rows)
    it(`counts ${what} as one client`, () => {
      for (const address of addresses) assert.equal(clientNetwork(address), network, address)
    })
})

describe('the ration of questions about a company', () => {
  it('is 30 a minute for an address and 3,000 an hour for a company, which refused ones do not use up', () => {
    let now = 0
    const ration = createRation(() => now)
    const isRefused = (address: number, companyId: string): boolean => {
      const ctx = { state: { head: new ResponseHead('', []) } } as unknown as Context
      try {
        ration(ctx, { name: `address ${address}`, hasKey: false }, companyId)
        return false
      } catch (error) {
        assert.match(String(error), address === 0 ? /More than 30 .* minute/ : /More than 3000 .* hour/)
        assert.ok(ctx.state.head.has('Retry-After'))
        return true
      }
    }
    const refusals = Array.from({ length: 60 }, () => isRefused(0, 'acme'))
    assert.deepEqual([refusals.indexOf(true), refusals.filter(Boolean).length], [30, 30])
    for (let i = 30; i < 3_000; i++) assert.equal(isRefused(Math.floor(i / 30), 'acme'), false)
    assert.equal(isRefused(100, 'acme'), true)
    assert.equal(isRefused(100, 'other'), false)
    now += 1_200
    assert.deepEqual([isRefused(101, 'acme'), isRefused(102, 'acme')], [false, true])
    now += 24 * 3_600_000
    const later = Array.from({ length: 3_001 }, (_, i) => isRefused(200 + Math.floor(i / 30), 'acme'))
    assert.equal(later.indexOf(true), 3_000)
  })
})
