import { leafHash, nodeHash, type NodeSource } from '../../core/log/tree/hash.ts'
import { sha256Of, u64 } from '../../core/bytes.ts'

/** `count` different entries of 32 bytes. The same arguments give the same entries. */
export const sampleEntries = (count: number, seed = 0): readonly Uint8Array[] =>
  Array.from({ length: count }, (_, i) => sha256Of(u64(seed), u64(i)))

/** A source of every complete node over the entries, built level by level. */
export function nodeTable(entries: readonly Uint8Array[]): NodeSource {
  const levels: Uint8Array[][] = [entries.map(leafHash)]
  for (let row = levels[0] as Uint8Array[]; row.length > 1; row = levels.at(-1) as Uint8Array[]) {
    const next: Uint8Array[] = []
    for (let i = 0; i + 1 < row.length; i += 2) next.push(nodeHash(row[i] as Uint8Array, row[i + 1] as Uint8Array))
    levels.push(next)
  }
  return ({ level, index }) => {
    const node = levels[level]?.[index]
    if (node === undefined) throw new Error(`No complete node ${level}/${index}`)
    return node
  }
}
