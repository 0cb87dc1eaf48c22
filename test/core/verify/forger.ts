import { encodeUtf8, sha256, toHex } from '../../../core/bytes.ts'
import { canonicalJson, type Json } from '../../../core/commitment/canonical-json.ts'
import {
  attachedFileText,
  fieldHash,
  fieldText,
  fileHash,
  filesHash,
  headerHash,
  openingBytes,
  slotHash,
  txIdOf,
} from '../../../core/commitment/event-format.ts'
import { entryOf, keyHandover, keyOpening, originOf, tokenOpening } from '../../../core/commitment/log-entry.ts'
import { checkpointText } from '../../../core/log/checkpoint.ts'
import { createNoteSigner, publicKeyOfSeed, type NoteSigner } from '../../../core/log/note.ts'
import { MerkleTree } from '../../support/merkle-tree.ts'
import type { BundleResult } from '../../../core/verify/index.ts'
import { present } from '../../support/present.ts'

/**
 * Makes histories and logs whose hashes and signatures are all correct, also when their content breaks a rule.
 * An attacker who holds the registry's keys can make them. Damaged data does not reach these rules, because its hash is
 * wrong first.
 */

export const SLOT_KEY = new Uint8Array(32).fill(9)

/** A file that forged events attach: its id, its content, and the text that an event commits to. */
export const FILE = '00000000-0000-7000-8000-000000000001'
export const content = encodeUtf8('content')
export const fileText = attachedFileText({
  id: FILE,
  mimeType: 'text/plain',
  name: 'a.txt',
  sha256: toHex(sha256(content)),
  size: content.length,
})

let salts = 0
const nextSalt = (): Uint8Array => sha256(encodeUtf8(`salt ${salts++}`))

export interface EventParts {
  readonly origin: string
  readonly slotKey: Uint8Array
  readonly version: number
  readonly time: number
  readonly first?: string | null
  readonly prev?: string | null
  readonly fields?: Readonly<Record<string, Json>>
  /** The exact texts of fields, in place of `[name, value]`. */
  readonly fieldTexts?: Readonly<Record<string, string>>
  /** The exact text of each file, by id. */
  readonly files?: Readonly<Record<string, string>>
  /** Changes the header before it is hashed. */
  readonly header?: (header: Record<string, unknown>) => Record<string, unknown>
  /** The slot in place of that of the version. */
  readonly slot?: Uint8Array
}

type Salted = Record<string, { text: string; salt: string }>

export interface ForgedEvent {
  readonly txId: string
  readonly time: number
  readonly version: number
  readonly opening: Uint8Array
  readonly disclosure: {
    opening: string
    header: string
    filesText: string
    filesSalt: string
    fields: Salted
    files: Salted
  }
}

function salted(texts: Readonly<Record<string, string>>, hash: typeof fieldHash) {
  const disclosed: Salted = {}
  const hashes: Record<string, string> = {}
  for (const [name, text] of Object.entries(texts)) {
    const salt = nextSalt()
    disclosed[name] = { text, salt: toHex(salt) }
    hashes[name] = toHex(hash(salt, text))
  }
  return { disclosed, hashes }
}

/** An event with correct hashes. */
export function forgeEvent(parts: EventParts): ForgedEvent {
  const { origin, slotKey, version, time, first = null, prev = null, header: change = (header) => header } = parts
  const texts = Object.fromEntries(
    Object.entries(parts.fields ?? {}).map(([name, value]) => [name, fieldText(name, value)]),
  )
  const fields = salted({ ...texts, ...parts.fieldTexts }, fieldHash)
  const files = salted(parts.files ?? {}, fileHash)
  const header = canonicalJson(change({ fields: fields.hashes, first, log: origin, prev, v: 1, version }))
  const [filesText, filesSalt] = [canonicalJson(files.hashes), nextSalt()]
  const opening = openingBytes({
    slot: parts.slot ?? slotHash(slotKey, version),
    time,
    header: headerHash(header),
    files: filesHash(filesSalt, filesText),
  })
  return {
    txId: toHex(txIdOf(opening)),
    time,
    version,
    opening,
    disclosure: {
      opening: toHex(opening),
      header,
      filesText,
      filesSalt: toHex(filesSalt),
      fields: fields.disclosed,
      files: files.disclosed,
    },
  }
}

const NAME = 'forged.example/log'

interface ForgedKey {
  readonly signer: NoteSigner
  readonly position: number
  readonly entry: string
}

/** A log of its own, with real keys and a real tree. */
export class ForgedLog {
  readonly origin: string
  readonly tree = new MerkleTree()
  readonly openings: Uint8Array[] = []
  readonly keys: ForgedKey[] = []

  /** `openings`: what is in the log before its first key. */
  constructor(openings: readonly Uint8Array[] = []) {
    this.origin = originOf(NAME, publicKeyOfSeed(seedOf(0)))
    for (const opening of openings) this.add(opening)
    this.addKey()
  }

  /** Returns the position. */
  add(opening: Uint8Array): number {
    this.openings.push(opening)
    return this.tree.add(entryOf(opening))
  }

  /** `seed`: another one makes the key of a thief, to whom the previous key hands over. */
  addKey(seed = this.keys.length): ForgedKey {
    const signer = createNoteSigner(this.origin, seedOf(seed))
    const previous = this.keys.at(-1)
    const unsigned = { log: this.origin, prev: previous?.entry ?? null, vkey: signer.verifierKey }
    const sig = previous === undefined ? null : toHex(previous.signer.sign(keyHandover(unsigned)))
    const opening = keyOpening({ ...unsigned, sig })
    const key = { signer, position: this.add(opening), entry: toHex(entryOf(opening)) }
    this.keys.push(key)
    return key
  }

  /** A checkpoint of any size that the log has, signed by any of its keys. */
  checkpoint(size = this.tree.size, { key = this.keys.length - 1, extension = '' } = {}): string {
    const text = checkpointText({ origin: this.origin, size, root: this.tree.root(size) })
    return present(this.keys[key]).signer.signNote(text + extension)
  }

  /** The keys as a policy pins them. */
  get pinned() {
    return this.keys.map(({ signer, position }, i) => {
      const until = this.keys[i + 1]?.position ?? null
      return {
        vkey: signer.verifierKey,
        from: position + 1,
        until,
        ...(until !== null && { root: this.tree.root(until) }),
      }
    })
  }

  addToken(token: Uint8Array): number {
    return this.add(tokenOpening(token))
  }
}

const seedOf = (index: number): Uint8Array => new Uint8Array(32).fill(index + 1).fill((index + 1) ^ (index >> 8), 31)

/** The check and the rule that refuted a bundle, or by which it cannot be read; else its state. */
export const ruleOf = (result: BundleResult): readonly string[] =>
  result.state === 'refuted' || result.state === 'unreadable' ? [result.check, result.rule] : [result.state]
