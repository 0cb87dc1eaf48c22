import { lookup as dnsLookup, type LookupAddress } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/**
 * Addresses that are reachable only from this machine or its network, or that are not assigned (IANA special-purpose
 * registries, RFC 6890). `BlockList` checks IPv6 addresses that contain an IPv4 address as that address.
 */
const SPECIAL = new BlockList()
for (const [address, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  SPECIAL.addSubnet(address, bits, 'ipv4')

/** Global unicast is 2000::/3 without the transition, documentation and benchmark ranges in it. */
const GLOBAL = new BlockList()
GLOBAL.addSubnet('2000::', 3, 'ipv6')
for (const [address, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  SPECIAL.addSubnet(address, bits, 'ipv6')

/** Whether an IP address is one of the public internet. False for any other text. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !SPECIAL.check(address, 'ipv4')
  return family === 6 && GLOBAL.check(address, 'ipv6') && !SPECIAL.check(address, 'ipv6')
}

const notPublicError = (): NodeJS.ErrnoException =>
  Object.assign(new Error('The name resolves to no public address'), { code: 'NOT_A_PUBLIC_ADDRESS' })

/**
 * `dns.lookup` restricted to public addresses. The connection uses the address that was checked, so a later change of
 * the name has no effect.
 */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  dnsLookup(hostname, { ...options, all: true }, (error, resolved) => {
    if (error) return callback(error, [])
    const addresses: readonly LookupAddress[] = resolved.filter(({ address }) => isPublicAddress(address))
    const [first] = addresses
    if (first === undefined) return callback(notPublicError(), [])
    if (options.all === true) callback(null, [...addresses])
    else callback(null, first.address, first.family)
  })
}
