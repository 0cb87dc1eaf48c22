import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * What counts as one client: an IPv4 address, or the /64 network of an IPv6 address, because each subscriber has at
 * least a whole one, with more addresses than anyone can count. A text that is not an address stays as it is.
 */
export function clientNetwork(address: string): string {
  // The usual case. It has one spelling only.
  if (isIPv4(address)) return address
  // Some proxies forward the port, too: `192.0.2.1:4711`, `[2001:db8::1]:4711`.
  const [, ipv4, ipv6] = /^(?:(\d+\.\d+\.\d+\.\d+):\d+|\[([^\]]*)\](?::\d+)?)$/.exec(address) ?? []
  const plain = ipv4 ?? ipv6 ?? address
  if (!ipaddr.isValid(plain)) return plain
  // An IPv4 address that is mapped into IPv6 becomes one.
  const parsed = ipaddr.process(plain)
  // Each address of the network 64:ff9b::/96 is that of an IPv4 client (RFC 6052).
  if (!(parsed instanceof ipaddr.IPv6) || parsed.range() === 'rfc6052') return parsed.toString()
  const groups = parsed.parts.slice(0, 4).map((group) => group.toString(16))
  return `${groups.join(':')}::/64`
}
