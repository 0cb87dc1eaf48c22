import { isIPv6 } from 'node:net'

/**
 * What counts as one client: an IPv4 address, or the /64 network of an IPv6 address, because each subscriber has at
 * least a whole one, with more addresses than anyone can count. A text that is not an address stays as it is.
 */
export function clientNetwork(address: string): string {
  const plain = withoutPort(address)
  const [ipv6 = ''] = plain.split('%', 1)
  if (!isIPv6(ipv6)) return plain
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ipv6)?.[1]
  if (mapped !== undefined) return mapped
  const network = networkOf(ipv6)
  // Each of its addresses is that of an IPv4 client (RFC 6052).
  return network === '64:ff9b:0:0' ? ipv6 : `${network}::/64`
}

/** Some proxies forward the port, too: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (address: string): string =>
  /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(address)?.[1] ?? /^\[([^\]]*)\](?::\d+)?$/.exec(address)?.[1] ?? address

/** The first four groups of a valid address, without leading zeros. */
function networkOf(address: string): string {
  const [head = '', tail] = address.split('::', 2)
  const groups = groupsOf(head)
  if (tail !== undefined) {
    const after = groupsOf(tail)
    // The last group can be an IPv4 address, which stands for two.
    const count = groups.length + after.length + (tail.includes('.') ? 1 : 0)
    groups.push(...Array.from({ length: 8 - count }, () => '0'), ...after)
  }
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}

const groupsOf = (text: string): string[] => (text === '' ? [] : text.split(':'))
