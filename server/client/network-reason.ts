/** Why there was no response, and what to check. `fetch` of Node says only that it failed; the reason is its cause. */
export function networkReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  // One for each address of a host.
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause
  if (inner instanceof Error) return networkReason(inner)
  const { code = '', address, port, hostname }: SystemError & Error = error
  // Of the list in the standard of `fetch`.
  if (error.message === 'bad port') return 'clients with fetch never connect to this port: use another one'
  if (code === 'ECONNREFUSED')
    return `connection refused by ${address}:${port}: check the address, and that the service runs`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `the host name ${hostname} is unknown: check the address`
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'EPROTO')
    return `no TLS at this address (${code}): check the address and its port, or begin it with http://`
  if (/CERT|SIGNATURE/.test(code))
    return `its TLS certificate is not accepted, ${error.message}: check the address, or set NODE_EXTRA_CA_CERTS`
  return error.message
}

interface SystemError {
  readonly code?: string
  readonly address?: string
  readonly port?: number
  readonly hostname?: string
}
