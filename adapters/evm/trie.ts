import { keccak256 } from 'ethers/crypto'
import { decodeRlp, encodeRlp, type RlpStructuredData } from 'ethers/utils'

/**
 * The Merkle-Patricia trie of a block's transactions (Ethereum yellow paper, appendix D): keys are the RLP of the index, values the
 * raw transactions. Hashes and RLP are `0x` hex, as ethers takes and gives them; a path is a string of nibbles. No key is the
 * beginning of another, so a branch never holds a value.
 */
interface TrieNode {
  readonly encoded: string
  /** By the part of the path that leads there. */
  readonly below: ReadonlyMap<string, TrieNode>
}

interface Item {
  readonly path: string
  readonly value: string
}

const EMPTY = '0x'
/** A node whose RLP is shorter stands in its parent itself, not by its hash. 32 bytes, in hex with `0x`. */
const HASHED_FROM = 66

export interface TransactionTrie {
  readonly root: string
  /** RLP of the nodes from the root to the transaction's. Requires 0 <= index < count. */
  proof(index: number): readonly string[]
}

/** The trie of a block's raw transactions, in their order. */
export function buildTransactionTrie(transactions: readonly string[]): TransactionTrie {
  if (transactions.length === 0) return { root: keccak256(encodeRlp(EMPTY)), proof: () => [] }
  const top = build(transactions.map((value, index) => ({ path: pathOf(index), value })))
  return { root: keccak256(top.encoded), proof: (index) => proofTo(top, pathOf(index)) }
}

/**
 * The transaction that a proof shows under `root` at `index`. Answers `undefined` for what is no such proof: each node must hash to what
 * the one before names, and none may be left over. The proof may come from anybody.
 */
export function transactionByProof(root: string, index: number, proof: readonly string[]): string | undefined {
  try {
    return follow(root, pathOf(index), proof)
  } catch {
    // ethers throws for what is no RLP.
    return undefined
  }
}

function pathOf(index: number): string {
  const digits = index.toString(16)
  return encodeRlp(index === 0 ? EMPTY : `0x${digits.length % 2 === 0 ? '' : '0'}${digits}`).slice(2)
}

function build(items: readonly Item[]): TrieNode {
  const [first] = items as readonly [Item, ...Item[]]
  if (items.length === 1) return { encoded: encodeRlp([compact(first.path, true), first.value]), below: new Map() }
  const shared = sharedPrefix(items)
  if (shared === '') return branch(items)
  const child = build(items.map(({ path, value }) => ({ path: path.slice(shared.length), value })))
  return { encoded: encodeRlp([compact(shared, false), referenceTo(child)]), below: new Map([[shared, child]]) }
}

function branch(items: readonly Item[]): TrieNode {
  const below = new Map<string, TrieNode>()
  const slots: RlpStructuredData[] = []
  for (let nibble = 0; nibble < 16; nibble++) {
    const digit = nibble.toString(16)
    const own = items.filter(({ path }) => path.startsWith(digit))
    if (own.length > 0) below.set(digit, build(own.map(({ path, value }) => ({ path: path.slice(1), value }))))
    const child = below.get(digit)
    slots.push(child === undefined ? EMPTY : referenceTo(child))
  }
  return { encoded: encodeRlp([...slots, EMPTY]), below }
}

const referenceTo = ({ encoded }: TrieNode): RlpStructuredData =>
  encoded.length < HASHED_FROM ? decodeRlp(encoded) : keccak256(encoded)

function sharedPrefix(items: readonly Item[]): string {
  const [{ path }] = items as readonly [Item, ...Item[]]
  let length = path.length
  for (const item of items) while (!item.path.startsWith(path.slice(0, length))) length--
  return path.slice(0, length)
}

/** Hex-prefix encoding (appendix C): whether it is a leaf, whether the path is odd, and the path. */
function compact(path: string, isLeaf: boolean): string {
  const flag = (isLeaf ? 2 : 0) + (path.length % 2)
  return `0x${flag.toString(16)}${path.length % 2 === 0 ? '0' : ''}${path}`
}

function proofTo(top: TrieNode, path: string): readonly string[] {
  const proof: string[] = []
  let rest = path
  for (let node: TrieNode | undefined = top; node !== undefined;) {
    if (node === top || node.encoded.length >= HASHED_FROM) proof.push(node.encoded)
    const step: readonly [string, TrieNode] | undefined = [...node.below].find(([part]) => rest.startsWith(part))
    rest = rest.slice(step?.[0].length)
    node = step?.[1]
  }
  return proof
}

function follow(root: string, path: string, proof: readonly string[]): string | undefined {
  let reference: RlpStructuredData = root
  let rest = path
  let used = 0
  for (;;) {
    const node: RlpStructuredData | undefined =
      typeof reference === 'string' ? nodeOf(reference, proof[used++]) : reference
    if (!Array.isArray(node)) return undefined
    if (node.length === 17) {
      const next: RlpStructuredData | undefined = node[parseInt(rest.charAt(0), 16)]
      if (next === undefined || next === EMPTY) return undefined
      ;[reference, rest] = [next, rest.slice(1)]
      continue
    }
    const [part, next] = node as readonly RlpStructuredData[]
    if (node.length !== 2 || typeof part !== 'string' || next === undefined) return undefined
    if (part === compact(rest, true)) return used === proof.length && typeof next === 'string' ? next : undefined
    const shared = part.slice(part[2] === '1' ? 3 : 4)
    if (shared === '' || part !== compact(shared, false) || !rest.startsWith(shared)) return undefined
    ;[reference, rest] = [next, rest.slice(shared.length)]
  }
}

function nodeOf(hash: string, encoded: string | undefined): RlpStructuredData | undefined {
  return encoded !== undefined && keccak256(encoded) === hash ? decodeRlp(encoded) : undefined
}
