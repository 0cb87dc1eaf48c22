import type { RecordStore } from '../../core/index.ts'
import { deletedFiles, type Difference } from '../../core/ops/index.ts'

/** How a restore tells what it finds and does. */
export interface RestoreHandlers {
  onProblem(message: string): void
  onProgress(stage: string, done: number): void
}

/** Reports problems and counts them. */
export class Problems {
  readonly handlers: RestoreHandlers
  count = 0
  readonly damagedBlobs = new Set<string>()

  constructor(handlers: RestoreHandlers) {
    this.handlers = handlers
  }

  add(message: string): void {
    this.handlers.onProblem(message)
    this.count += 1
  }

  /** A file whose bytes the backup does not have. */
  addDamagedBlob(id: string, message: string): void {
    this.handlers.onProblem(`blob/${id}: ${message}`)
    this.damagedBlobs.add(id)
  }

  /** The check of what was restored finds again which files are lost. */
  addDifference(difference: Difference): void {
    const { kind, key, message } = difference
    if (!this.damagedBlobs.has(blobIn(difference) ?? '')) this.add(`${kind}: ${key}: ${message}`)
  }

  /**
   * Differences of the files of a backup: bytes that it does not have are a damaged file, those that it still has of a
   * deleted file are a problem.
   */
  async addBlobs(differences: readonly Difference[], records: RecordStore): Promise<void> {
    const byId = new Map(differences.map((difference) => [blobIn(difference) ?? '', difference]))
    const deleted = new Set(await deletedFiles(records, [...byId.keys()]))
    for (const [id, difference] of byId)
      if (deleted.has(id)) this.addDifference(difference)
      else this.addDamagedBlob(id, difference.message)
  }
}

/** The id of the file whose bytes a difference is about. */
export const blobIn = ({ kind, key }: Difference): string | undefined =>
  kind === 'blob' ? key.slice(key.indexOf('/') + 1) : undefined
