import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clientNetwork } from '../../../server/http/client-network.ts'

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
