import { decodeRlp, encodeRlp, keccak256, type RlpItem } from './rlp.ts'

/**
 * The Merkle-Patricia trie of a block's transactions (Ethereum yellow paper, appendix D). Keys are the RLP of the
 * index, values the raw transactions. Hashes and RLP are `0x` hex, and a path is a string of nibbles. No key is a
 * prefix of another, so a branch never holds a value.
 */
interface TrieNode {
  readonly encoded: string
  /** By the part of the path that leads to the child. */
  readonly children: ReadonlyMap<string, TrieNode>
}

interface Item {
  readonly path: string
  readonly value: string
}

type Items = readonly [Item, ...Item[]]

const EMPTY = '0x'
/** A node with shorter RLP is embedded in its parent instead of its hash: 32 bytes, as `0x` hex. */
const HASHED_FROM = 66

interface TransactionTrie {
  readonly root: string
  /** Returns the RLP of each node from the root to the transaction. Requires 0 <= index < count. */
  proof(index: number): readonly string[]
}

/** Builds the trie of a block's raw transactions, given in their order. */
export function buildTransactionTrie(transactions: readonly string[]): TransactionTrie {
  const [first, ...others] = transactions.map((value, index) => ({ path: pathOf(index), value }))
  if (first === undefined) return { root: keccak256(encodeRlp(EMPTY)), proof: () => [] }
  const top = build([first, ...others])
  return { root: keccak256(top.encoded), proof: (index) => proofTo(top, pathOf(index)) }
}

/**
 * Returns the transaction that a proof shows under `root` at `index`, or `undefined` if the proof is not valid. Each
 * node must hash to what the node before it names, and none may be left over. An attacker may control the proof.
 */
export function transactionByProof(root: string, index: number, proof: readonly string[]): string | undefined {
  try {
    return follow(root, pathOf(index), proof)
  } catch {
    // A node is not RLP.
    return undefined
  }
}

function pathOf(index: number): string {
  const digits = index.toString(16)
  return encodeRlp(index === 0 ? EMPTY : `0x${digits.length % 2 === 0 ? '' : '0'}${digits}`).slice(2)
}

function build(items: Items): TrieNode {
  const [first, second] = items
  if (second === undefined) return { encoded: encodeRlp([compact(first.path, true), first.value]), children: new Map() }
  const shared = sharedPrefix(items)
  if (shared === '') return branch(items)
  const child = build(withoutPrefix(items, shared.length))
  return { encoded: encodeRlp([compact(shared, false), referenceTo(child)]), children: new Map([[shared, child]]) }
}

function branch(items: Items): TrieNode {
  const children = new Map<string, TrieNode>()
  const slots: RlpItem[] = []
  for (let nibble = 0; nibble < 16; nibble++) {
    const digit = nibble.toString(16)
    const [first, ...others] = items.filter(({ path }) => path.startsWith(digit))
    const child = first && build(withoutPrefix([first, ...others], 1))
    if (child !== undefined) children.set(digit, child)
    slots.push(child === undefined ? EMPTY : referenceTo(child))
  }
  return { encoded: encodeRlp([...slots, EMPTY]), children }
}

const referenceTo = ({ encoded }: TrieNode): RlpItem =>
  encoded.length < HASHED_FROM ? decodeRlp(encoded) : keccak256(encoded)

const withoutPrefix = ([first, ...others]: Items, length: number): Items => {
  const shorten = ({ path, value }: Item): Item => ({ path: path.slice(length), value })
  return [shorten(first), ...others.map(shorten)]
}

function sharedPrefix(items: Items): string {
  const [{ path }] = items
  let length = path.length
  for (const item of items) while (!item.path.startsWith(path.slice(0, length))) length--
  return path.slice(0, length)
}

/** Hex-prefix encoding (appendix C): a leaf flag, a flag for an odd path, and the path. */
function compact(path: string, isLeaf: boolean): string {
  const flag = (isLeaf ? 2 : 0) + (path.length % 2)
  return `0x${flag.toString(16)}${path.length % 2 === 0 ? '0' : ''}${path}`
}

function proofTo(top: TrieNode, path: string): readonly string[] {
  const proof: string[] = []
  let rest = path
  for (let node: TrieNode | undefined = top; node !== undefined;) {
    if (node === top || node.encoded.length >= HASHED_FROM) proof.push(node.encoded)
    const step: readonly [string, TrieNode] | undefined = [...node.children].find(([part]) => rest.startsWith(part))
    rest = rest.slice(step?.[0].length)
    node = step?.[1]
  }
  return proof
}

function follow(root: string, path: string, proof: readonly string[]): string | undefined {
  let reference: RlpItem = root
  let rest = path
  let used = 0
  for (;;) {
    const node: RlpItem | undefined = typeof reference === 'string' ? nodeOf(reference, proof[used++]) : reference
    if (node === undefined || typeof node === 'string') return undefined
    if (node.length === 17) {
      const next: RlpItem | undefined = node[parseInt(rest.charAt(0), 16)]
      if (next === undefined || next === EMPTY) return undefined
      ;[reference, rest] = [next, rest.slice(1)]
      continue
    }
    const [part, next]: readonly (RlpItem | undefined)[] = node
    if (node.length !== 2 || typeof part !== 'string' || next === undefined) return undefined
    if (part === compact(rest, true)) return used === proof.length && typeof next === 'string' ? next : undefined
    const shared = part.slice(part[2] === '1' ? 3 : 4)
    if (shared === '' || part !== compact(shared, false) || !rest.startsWith(shared)) return undefined
    ;[reference, rest] = [next, rest.slice(shared.length)]
  }
}

function nodeOf(hash: string, encoded: string | undefined): RlpItem | undefined {
  return encoded !== undefined && keccak256(encoded) === hash ? decodeRlp(encoded) : undefined
}
