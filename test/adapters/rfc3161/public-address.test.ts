import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isPublicAddress, publicLookup } from '../../../adapters/rfc3161/public-address.ts'

describe('public addresses', () => {
  it('are globally reachable', () => {
    for (const address of ['1.1.1.1', '8.8.8.8', '172.32.0.1', '192.169.0.1', '2606:4700::1111', '2a00:1450::1'])
      assert.equal(isPublicAddress(address), true, address)
  })

  it('do not include this machine, its network, or unassigned addresses', () => {
    const private4 = ['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.8.8.8', '169.254.169.254', '172.16.0.1']
    const others4 = [
      '172.31.255.255',
      '192.0.2.1',
      '192.168.1.1',
      '198.18.0.1',
      '203.0.113.9',
      '224.0.0.1',
      '255.255.255.255',
    ]
    const private6 = [
      '::',
      '::1',
      'fe80::1',
      'fc00::1',
      'fd12::1',
      'ff02::1',
      '2001:db8::1',
      '2002:7f00:1::1',
      '64:ff9b::a00:1',
    ]
    const embedded4 = ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:8.8.8.8', '::127.0.0.1']
    for (const address of [...private4, ...others4, ...private6, ...embedded4, 'localhost', ''])
      assert.equal(isPublicAddress(address), false, address)
  })

  it('are the only ones that a look-up returns', async () => {
    for (const all of [true, false]) {
      const error = await new Promise((resolve) => publicLookup('localhost', { all }, resolve))
      assert.equal((error as { code?: string } | null)?.code, 'NOT_A_PUBLIC_ADDRESS')
    }
  })
})
