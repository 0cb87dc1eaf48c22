/** A block that an anchor names. */
interface Block {
  readonly chainId: number
  readonly blockNumber: number
  readonly blockHash: string
}

const TIMEOUT_MS = 30_000
const MAX_RESPONSE_LENGTH = 1_048_576

/**
 * Asks a node of an EVM chain which of these blocks are part of its chain.
 *
 * @returns their hashes
 * @throws an Error if the node cannot be asked, belongs to another chain, or has deleted a block
 */
export async function blocksOnChain(url: string, blocks: readonly Block[]): Promise<ReadonlySet<string>> {
  const chainId = Number(await call(url, 'eth_chainId', []))
  const other = blocks.find((block) => block.chainId !== chainId)
  if (other !== undefined) throw new Error(`it belongs to the chain ${chainId}, expected ${other.chainId}`)
  const onChain = new Set<string>()
  for (const { blockNumber, blockHash } of new Map(blocks.map((block) => [block.blockHash, block])).values()) {
    const tag = `0x${blockNumber.toString(16)}`
    const header = (): Promise<unknown> => call(url, 'eth_getHeaderByNumber', [tag]).catch(() => null)
    const block = (await call(url, 'eth_getBlockByNumber', [tag, false])) ?? (await header())
    if (block === null && Number(await call(url, 'eth_blockNumber', [])) >= blockNumber)
      throw new Error(`it has deleted the block ${blockNumber}: ask a node that keeps old blocks`)
    const { hash }: { readonly hash?: unknown } = typeof block === 'object' && block !== null ? block : {}
    if (typeof hash === 'string' && hash.toLowerCase() === blockHash.toLowerCase()) onChain.add(blockHash)
  }
  return onChain
}

/**
 * One JSON-RPC call; `null` if the node has deleted what is asked for (EIP-4444). What it returns is not trusted beyond
 * the hash of a block.
 */
async function call(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const text = await response.text()
  if (!response.ok || text.length > MAX_RESPONSE_LENGTH) throw new Error(`${method} returned ${response.status}`)
  const { result, error }: { readonly result?: unknown; readonly error?: unknown } = JSON.parse(text)
  if (typeof error === 'object' && error !== null && 'code' in error && error.code === 4444) return null
  if (error !== undefined) throw new Error(`${method} failed`)
  return result
}
