/** A block that an anchor names. */
interface Block {
  readonly chainId: number
  readonly blockNumber: number
  readonly blockHash: string
}

const TIMEOUT_MS = 30_000
const MAX_RESPONSE_LENGTH = 1_048_576

/** Names a block, also to a node of another chain. */
export const nameOf = ({ chainId, blockHash }: Block): string => `${chainId} ${blockHash}`

/**
 * Asks a node of an EVM chain which of these blocks are part of its chain. Leaves out those of other chains.
 *
 * @returns the answers by `nameOf`
 * @throws an Error if the node cannot be asked, belongs to the chain of none of them, or has deleted a block
 */
export async function blocksOnChain(url: string, blocks: readonly Block[]): Promise<ReadonlyMap<string, boolean>> {
  const chainId = Number(await call(url, 'eth_chainId', []))
  const known = blocks.filter((block) => block.chainId === chainId)
  if (known.length === 0) throw new Error(`it belongs to the chain ${chainId}, expected ${blocks[0]?.chainId}`)
  const answers = new Map<string, boolean>()
  for (const asked of new Map(known.map((block) => [block.blockHash, block])).values()) {
    const { blockNumber, blockHash } = asked
    const tag = `0x${blockNumber.toString(16)}`
    const header = (): Promise<unknown> => call(url, 'eth_getHeaderByNumber', [tag]).catch(() => null)
    const block = (await call(url, 'eth_getBlockByNumber', [tag, false])) ?? (await header())
    if (block === null && Number(await call(url, 'eth_blockNumber', [])) >= blockNumber)
      throw new Error(`it has deleted the block ${blockNumber}: ask a node that keeps old blocks`)
    const { hash }: { readonly hash?: unknown } = typeof block === 'object' && block !== null ? block : {}
    answers.set(nameOf(asked), typeof hash === 'string' && hash.toLowerCase() === blockHash.toLowerCase())
  }
  return answers
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
