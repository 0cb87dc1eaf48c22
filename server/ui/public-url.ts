/** Where clients reach this page. The server knows it if the operator has set it. */
export function publicUrl(): string {
  const given = document.querySelector<HTMLMetaElement>('meta[name="public-url"]')?.content
  return given ? `${given}/ui/` : document.baseURI
}

/** The address of the public verification page of an evidence. It names only the internal id. */
export const verificationLink = (evidenceId: string): string => new URL(`#/verify/${evidenceId}`, publicUrl()).href

/** Hosts as the URL standard writes them. */
const OF_COMPUTER = /^(?:localhost|.+\.localhost|127\..+|0\.0\.0\.0|\[::1?\]|\[::ffff:7f.+\])$/
const OF_NETWORK = [
  /^(?:10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.[\d.]+$/,
  /^\[f(?:[cd]|e[89ab])/,
  /\.(?:local|lan|internal|home\.arpa)$/,
  /^[^.:]+$/,
]

/** Where an address can be opened, if that is not everywhere: on one computer, or in one network. */
export function reachOf(url: string): 'computer' | 'network' | undefined {
  const { hostname } = new URL(url)
  return OF_COMPUTER.test(hostname) ? 'computer' : OF_NETWORK.some((of) => of.test(hostname)) ? 'network' : undefined
}
