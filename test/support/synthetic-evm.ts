import { SigningKey } from 'ethers/crypto'
import { Transaction } from 'ethers/transaction'
import { encodeUtf8, toHex } from '../../core/bytes.ts'
import { canonicalJson } from '../../core/commitment/canonical-json.ts'
import type { Anchor, AnchorInfo, AnchorStatus, PreparedAnchor } from '../../core/ports/index.ts'
import { parseHeader } from '../../core/verify/chain/header.ts'
import { encodeRlp } from '../../core/verify/chain/rlp.ts'
import { parseTransaction } from '../../core/verify/chain/transaction.ts'
import { buildTransactionTrie } from '../../core/verify/chain/trie.ts'

const CHAIN_ID = 7
const BLOCK_SECONDS = 12
const ZERO_HASH = `0x${'00'.repeat(32)}`

/** An EVM chain without a node: each transaction gets a block of its own, with a real header, trie and signature. */
export class SyntheticEvm implements Anchor {
  readonly info: AnchorInfo
  readonly funds = null
  readonly #key: SigningKey
  readonly #address: string
  readonly #genesisSeconds: number
  readonly #blocks: { readonly raw: string; readonly ref: string }[] = []
  #nonce = 0

  /** @param genesis ms since 1970 */
  constructor(genesis: number, privateKey = `0x${'11'.repeat(32)}`) {
    this.#key = new SigningKey(privateKey)
    this.#address = Transaction.from(this.#signed('0x', 0)).from ?? ''
    this.#genesisSeconds = Math.floor(genesis / 1000)
    const network = `eip155:${CHAIN_ID}`
    this.info = { type: 'evm', network, chainId: CHAIN_ID, assurance: 'independent', account: this.#address }
  }

  #signed(data: string, nonce: number): string {
    const transaction = Transaction.from({
      type: 2,
      chainId: CHAIN_ID,
      nonce,
      gasLimit: 50_000,
      maxFeePerGas: 9,
      maxPriorityFeePerGas: 1,
      to: this.#address || `0x${'00'.repeat(20)}`,
      value: 0,
      data,
    })
    transaction.signature = this.#key.sign(transaction.unsignedHash)
    return transaction.serialized
  }

  async prepare({ checkpoint }: Parameters<Anchor['prepare']>[0]): Promise<PreparedAnchor> {
    const raw = this.#signed(`0x${toHex(checkpoint)}`, this.#nonce++)
    const bytes = Buffer.from(raw.slice(2), 'hex')
    return { ref: parseTransaction(bytes)?.hash ?? '', raw: new Uint8Array(bytes) }
  }

  async broadcast(bytes: Uint8Array): Promise<void> {
    const raw = `0x${toHex(bytes)}`
    const ref = parseTransaction(bytes)?.hash ?? ''
    if (!this.#blocks.some((block) => block.ref === ref)) this.#blocks.push({ raw, ref })
  }

  async status(transactions: readonly PreparedAnchor[]): Promise<readonly AnchorStatus[]> {
    return transactions.map(({ ref }) => {
      const index = this.#blocks.findIndex((block) => block.ref === ref)
      const block = this.#blocks[index]
      return block === undefined ? { state: 'unknown' } : this.#confirmed(block.raw, index)
    })
  }

  #confirmed(raw: string, index: number): AnchorStatus {
    const others = ['0x01', '0x02', '0x03']
    const trie = buildTransactionTrie([...others, raw])
    const seconds = this.#genesisSeconds + index * BLOCK_SECONDS
    const header = encodeRlp(headerFields(trie.root, index + 1, seconds))
    const { hash: blockHash, number: blockNumber, time: blockTime } = parseHeader(Buffer.from(header.slice(2), 'hex'))
    const inclusion = { header, index: others.length, proof: trie.proof(others.length) }
    const proof = encodeUtf8(canonicalJson({ v: 1, chainId: CHAIN_ID, raw, inclusion }))
    return { state: 'confirmed', blockNumber, blockHash, blockTime, confirmations: 12, proof, settled: true }
  }

  async findForeignUse(): Promise<undefined> {
    return undefined
  }

  async close(): Promise<void> {}
}

const quantity = (value: number): string => {
  const digits = value.toString(16)
  return value === 0 ? '0x' : `0x${digits.length % 2 === 0 ? '' : '0'}${digits}`
}

const headerFields = (transactionsRoot: string, number: number, seconds: number): readonly string[] => [
  ZERO_HASH,
  ZERO_HASH,
  `0x${'00'.repeat(20)}`,
  ZERO_HASH,
  transactionsRoot,
  ZERO_HASH,
  `0x${'00'.repeat(256)}`,
  '0x',
  quantity(number),
  quantity(30_000_000),
  quantity(50_000),
  quantity(seconds),
  '0x',
  ZERO_HASH,
  `0x${'00'.repeat(8)}`,
  quantity(7),
]
