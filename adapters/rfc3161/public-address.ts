import { lookup as dnsLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Global unicast. The library takes other addresses of IPv6 that are not assigned for unicast, too. */
const GLOBAL = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Whether an IP address is one of the public internet: in none of the IANA special-purpose registries (RFC 6890).
 * False for any other text.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false
  const parsed = ipaddr.parse(address)
  return parsed.range() === 'unicast' && (parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL))
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
