import type { RecordedEvent } from '../../../core/index.ts'
import type { ClientFile } from './client.ts'

/** An event that must be in a history. */
export interface KnownEvent {
  readonly type: string
  /** `undefined` if the registry does not return it, as for the deletion of a file. */
  readonly txId?: string
}

export interface KnownFile extends ClientFile {
  isDeleted: boolean
}

/** What the acknowledgements say about one evidence. */
export interface KnownEvidence {
  readonly externalId: string
  readonly category: string
  readonly id: string
  readonly events: KnownEvent[]
  readonly files: KnownFile[]
  owner: string
  description: string
}

/** What must be true because it was acknowledged, and nothing else may be. */
export class Model {
  readonly evidences: KnownEvidence[] = []
  /** Names of categories, with the names of their subcategories. */
  readonly categories = new Map<string, Set<string>>()
  readonly sourceSystems: string[] = []

  addEvidence(evidence: Pick<KnownEvidence, 'externalId' | 'category' | 'id'>, txId: string): KnownEvidence {
    const known = { ...evidence, events: [{ type: 'create', txId }], files: [], owner: '', description: '' }
    this.evidences.push(known)
    return known
  }

  addSubcategory(category: string, subcategory?: string): void {
    const names = this.categories.get(category) ?? new Set()
    if (subcategory !== undefined) names.add(subcategory)
    this.categories.set(category, names)
  }
}

/** Adds the events that an update returned, of these types in this order. */
export function addEvents(evidence: KnownEvidence, types: readonly string[], recorded: readonly RecordedEvent[]): void {
  for (const [i, { txId }] of recorded.entries()) evidence.events.push({ type: types[i] ?? 'unexpected', txId })
}
