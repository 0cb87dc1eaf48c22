import { once } from 'node:events'
import { request as httpRequest, type Agent, type ClientRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { BlockList, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { concatBytes, encodeUtf8, RegistryError, systemClock, toBase64 } from './kit/index.ts'

/** Proxies for requests to services outside, as in the variables `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`. */
export interface ProxySettings {
  /** Proxy for http URLs: an http URL, which may contain a name and password. Default: `httpsProxy`. */
  readonly httpProxy?: string | undefined
  /** Proxy for https URLs, which it connects to (CONNECT). Default: none. */
  readonly httpsProxy?: string | undefined
  /**
   * Hosts that are reached without a proxy, separated by commas: names, which include their subdomains, and addresses,
   * each also with `:port`; networks such as `10.0.0.0/8`; or `*`. Default: none.
   */
  readonly noProxy?: string | undefined
}

/** The proxies of the settings. Throws `CONFIG_ERROR` if one is not an http URL. */
export class Proxies {
  readonly #http: ProxyServer | undefined
  readonly #https: ProxyServer | undefined
  readonly #direct: readonly string[]

  constructor({ httpsProxy, httpProxy = httpsProxy, noProxy = '' }: ProxySettings = {}) {
    this.#http = proxyOf(httpProxy)
    this.#https = proxyOf(httpsProxy)
    this.#direct = noProxy.toLowerCase().split(/[\s,]+/)
  }

  /** Returns the proxy for a URL, `undefined` if it is reached without one. */
  for(url: URL): ProxyServer | undefined {
    if (this.#direct.some((entry) => isCovered(url, entry))) return undefined
    return url.protocol === 'https:' ? this.#https : this.#http
  }
}

interface ProxyServer {
  readonly address: { readonly hostname: string; readonly port: string; readonly agent: false }
  readonly headers: Readonly<Record<string, string>>
}

/** Without a scheme it is http, as for other programs. The error does not show the URL, which may have a password. */
function proxyOf(text: string | undefined): ProxyServer | undefined {
  if (text === undefined) return undefined
  const given = text.includes('://') ? text : `http://${text}`
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (url?.protocol !== 'http:')
    throw new RegistryError('CONFIG_ERROR', 'A proxy (HTTP_PROXY, HTTPS_PROXY) must be an http URL')
  const basic = basicAuthorization(url, 'a proxy (HTTP_PROXY, HTTPS_PROXY)')
  return {
    address: { hostname: hostOf(url), port: portOf(url), agent: false },
    headers: basic === undefined ? {} : { 'Proxy-Authorization': basic },
  }
}

/**
 * Basic authentication with the name and password in a URL; `undefined` without them. Throws `CONFIG_ERROR`, without
 * the cause, which quotes the password. `whose`: who owns them.
 */
export function basicAuthorization({ username, password }: URL, whose: string): string | undefined {
  if (username === '' && password === '') return undefined
  try {
    return `Basic ${toBase64(encodeUtf8(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`))}`
  } catch {
    throw new RegistryError(
      'CONFIG_ERROR',
      `The name or password of ${whose} must be percent-encoded UTF-8: write % as %25`,
    )
  }
}

/** Whether an entry of `noProxy` names the host of a URL. */
function isCovered(url: URL, entry: string): boolean {
  if (entry.includes('/') || isIP(entry) === 6) return isInNetwork(hostOf(url), entry)
  const [, name = '', port = portOf(url)] = /^(?:\*?\.)?(.*?)(?::(\d+))?$/.exec(entry) ?? []
  const isNamed = url.hostname === name || url.hostname.endsWith(`.${name}`)
  return name === '*' || (name !== '' && isNamed && port === portOf(url))
}

/** As in curl, only addresses are in a network, because the name of a URL is not looked up. */
function isInNetwork(host: string, entry: string): boolean {
  const [network = '', bits = '128'] = entry.split('/')
  const family = isIP(network)
  if (family === 0 || family !== isIP(host) || !/^\d+$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128))
    return false
  const list = new BlockList()
  const type = family === 4 ? 'ipv4' : 'ipv6'
  list.addSubnet(network, Number(bits), type)
  return list.check(host, type)
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')
const portOf = ({ protocol, port }: URL): string => port || (protocol === 'https:' ? '443' : '80')

/** A request to a service outside. */
export interface OutsideRequest {
  readonly url: URL
  readonly proxies: Proxies
  /** Sent with POST. Without a body the request is a GET. */
  readonly body?: Uint8Array | undefined
  /** Throws if the response cannot be used, before its body is read. */
  readonly assertAcceptable?: (response: IncomingMessage) => void
  readonly headers: Readonly<Record<string, string>>
  readonly maxBytes: number
  readonly lookup?: LookupFunction | undefined
  readonly ca?: string | undefined
  /** For connections without a proxy. `false`: none outlives the response. */
  readonly agent: Agent | false
  readonly signal: AbortSignal
}

/** The other side responded, or its proxy did, in a way that cannot be used. */
export class ResponseError extends Error {}

/**
 * Sends a request and returns the response with its body. Does not follow redirects, decode, or retry. Throws
 * `ResponseError` if the response is larger than `maxBytes` or a proxy refuses the connection, else errors of the
 * system.
 */
export async function sendOutside(options: OutsideRequest): Promise<{ response: IncomingMessage; body: Uint8Array }> {
  const request = await openRequest(options)
  try {
    const responded: Promise<IncomingMessage> = once(request, 'response').then(([response]) => response)
    request.end(options.body)
    const response = await responded
    // After the response has begun, errors are reported by the response itself.
    request.on('error', () => undefined)
    options.assertAcceptable?.(response)
    return { response, body: await bodyOf(response, options.maxBytes) }
  } catch (error) {
    request.destroy()
    throw error
  }
}

/** A proxy gets an http URL whole, and connects to the host of an https URL. It looks the name up, and not `lookup`. */
async function openRequest({ url, proxies, agent, body, ...rest }: OutsideRequest): Promise<ClientRequest> {
  const { headers, lookup, ca, signal } = rest
  const length = body === undefined ? {} : { 'Content-Length': String(body.length) }
  const options = { method: body === undefined ? 'GET' : 'POST', headers: { ...headers, ...length }, signal }
  const proxy = proxies.for(url)
  if (url.protocol === 'https:') {
    if (proxy === undefined) return httpsRequest(url, { ...options, agent, lookup, ca })
    const socket = await tunnel(url, proxy, signal)
    const host = hostOf(url)
    const servername = isIP(host) === 0 ? host : ''
    return httpsRequest(url, { ...options, createConnection: () => connectTls({ socket, host, servername, ca }) })
  }
  if (proxy === undefined) return httpRequest(url, { ...options, agent, lookup })
  const headersToProxy = { ...options.headers, Host: url.host, ...proxy.headers }
  return httpRequest({ ...options, ...proxy.address, path: url.href, headers: headersToProxy })
}

/** Has the proxy connect to the host of a URL. */
async function tunnel(url: URL, proxy: ProxyServer, signal: AbortSignal): Promise<Socket> {
  const path = `${url.hostname}:${portOf(url)}`
  const headers = { Host: path, ...proxy.headers }
  const request = httpRequest({ ...proxy.address, method: 'CONNECT', path, headers, signal })
  const connected: Promise<{ response: IncomingMessage; socket: Socket }> = once(request, 'connect').then(
    ([response, socket]) => ({ response, socket }),
  )
  request.end()
  const { response, socket } = await connected
  // From now on errors are reported by the connection.
  request.on('error', () => undefined)
  const { statusCode = 0 } = response
  if (statusCode >= 200 && statusCode < 300) return socket
  socket.destroy()
  throw new ResponseError(`its proxy refused to connect (HTTP ${statusCode})`)
}

async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = (): ResponseError => new ResponseError(`its response has more than ${maxBytes} bytes`)
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  const chunks: Uint8Array[] = []
  let size = 0
  const body: AsyncIterable<Uint8Array> = response
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return concatBytes(...chunks)
}

const MAX_PAUSE_MS = 24 * 60 * 60 * 1_000

/** How long the other side asks not to be called: `Retry-After` of 429 and 503, seconds or a date, cut to a day. */
export function pauseAskedFor({ statusCode, headers }: IncomingMessage): number | undefined {
  const asked = headers['retry-after']?.trim() ?? ''
  if (statusCode !== 429 && statusCode !== 503) return undefined
  // By its own clock, if it shows it.
  const now = Date.parse(headers.date ?? '') || systemClock.now()
  const ms = /^\d+$/.test(asked) ? Number(asked) * 1_000 : Date.parse(asked) - now
  return ms > 0 ? Math.min(ms, MAX_PAUSE_MS) : undefined
}

export const pauseText = (ms: number): string => `asks for no request in the next ${Math.ceil(ms / 1_000)} s`
