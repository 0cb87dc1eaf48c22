import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clientNetwork } from '../../../server/http/client-network.ts'

describe('the network of a client', () => {
  const cases: readonly (readonly [address: string, network: string])[] = [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:4711', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::6', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::6]:4711', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['2001:db8:0:0:ffff:ffff:ffff:ffff', '2001:db8:0:0::/64'],
    ['2001::1:2:3:4:5', '2001:0:0:1::/64'],
    ['2001:db8:1::', '2001:db8:1:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::1:2:3:4:5:6:7', '0:1:2:3::/64'],
    ['::3:4:5:6:192.0.2.1', '0:0:3:4::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b::192.0.2.1'],
    ['unknown', 'unknown'],
    ['', ''],
  ]
  for (const [address, network] of cases)
    it(`of ${address || 'no address'} is ${network || 'empty'}`, () => assert.equal(clientNetwork(address), network))
})
