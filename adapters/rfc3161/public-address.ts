import { lookup as dnsLookup, type LookupAddress } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/**
 * Addresses that only this machine or its own network reaches, or that belong to nobody (IANA special-purpose registries, RFC 6890).
 * IPv6 addresses that carry an IPv4 address are checked as that by the list.
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

/** Global unicast is 2000::/3, less the transition, documentation and benchmark ranges in it. */
const GLOBAL = new BlockList()
GLOBAL.addSubnet('2000::', 3, 'ipv6')
for (const [address, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  SPECIAL.addSubnet(address, bits, 'ipv6')

export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !SPECIAL.check(address, 'ipv4')
  return family === 6 && GLOBAL.check(address, 'ipv6') && !SPECIAL.check(address, 'ipv6')
}

const refused = (): NodeJS.ErrnoException =>
  Object.assign(new Error('The name leads to no public address'), { code: 'NOT_A_PUBLIC_ADDRESS' })

/** As `dns.lookup`, but only public addresses: the connection goes to what was checked, whatever the name says a moment later. */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  dnsLookup(hostname, { ...options, all: true }, (error, found) => {
    if (error) return callback(error, [])
    const addresses: readonly LookupAddress[] = found.filter(({ address }) => isPublicAddress(address))
    const [first] = addresses
    if (first === undefined) return callback(refused(), [])
    if (options.all === true) callback(null, [...addresses])
    else callback(null, first.address, first.family)
  })
}
