/** Random changes of JSON documents, the same for the same seed. */

export type Random = () => number

/** The generator mulberry32: numbers from 0 to 1. */
export function randomFrom(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)] as T

type Container = Record<string, unknown> | unknown[]
interface Slot {
  readonly parent: Container
  readonly key: string
}

/** A random member of a document, at any depth. */
function slotOf(random: Random, document: Container): Slot {
  let parent = document
  for (;;) {
    const key = pick(random, Object.keys(parent))
    const value = (parent as Record<string, unknown>)[key]
    const isInner = typeof value === 'object' && value !== null && Object.keys(value).length > 0
    if (!isInner || random() < 0.15) return { parent, key }
    parent = value as Container
  }
}

const read = ({ parent, key }: Slot): unknown => (parent as Record<string, unknown>)[key]
function write({ parent, key }: Slot, value: unknown): void {
  ;(parent as Record<string, unknown>)[key] = value
}

const CHARACTERS = '0123456789abcdefABCDEF+/=— \\"{}[]:,\n\u0000é'

/** Replaces, inserts or removes one character. */
function changeText(random: Random, text: string): string {
  const at = Math.floor(random() * text.length)
  const inserted = random() < 0.2 ? '' : CHARACTERS.charAt(Math.floor(random() * CHARACTERS.length))
  return text.slice(0, at) + inserted + text.slice(at + (random() < 0.8 ? 1 : 0))
}

function changeValue(random: Random, value: unknown): unknown {
  if (typeof value === 'number') return pick(random, [value + 1, value - 1, 0, -1, value * 2, 0.5, null])
  if (typeof value === 'string') return random() < 0.9 ? changeText(random, value) : pick(random, ['', null, 1, []])
  if (Array.isArray(value)) return pick(random, [value.toReversed(), value.slice(1), [...value, ...value], [], null])
  return pick(random, [null, {}, [], true, 'x', 1])
}

/** A changed copy of one of the documents, perhaps with a piece of another one. */
export function mutate(random: Random, documents: readonly Container[]): string {
  const copy = structuredClone(pick(random, documents))
  if (random() < 0.1) return changeText(random, JSON.stringify(copy))
  for (let changes = random() < 0.7 ? 1 : 3; changes > 0; changes--) {
    if (Object.keys(copy).length === 0) break
    const slot = slotOf(random, copy)
    const choice = random()
    if (choice < 0.5) write(slot, changeValue(random, read(slot)))
    else if (choice < 0.6 && Array.isArray(slot.parent)) slot.parent.splice(Number(slot.key), 1)
    else if (choice < 0.6) Reflect.deleteProperty(slot.parent, slot.key)
    else if (choice < 0.65) write({ parent: slot.parent, key: 'another' }, 1)
    else write(slot, structuredClone(read(slotLike(random, pick(random, documents), slot.key) ?? slot)))
  }
  return JSON.stringify(copy)
}

/** A member of a document with the same name, so that the piece fits. */
function slotLike(random: Random, document: Container, key: string): Slot | undefined {
  for (let tries = 0; tries < 20; tries++) {
    const slot = slotOf(random, document)
    if (slot.key === key) return slot
  }
  return undefined
}
