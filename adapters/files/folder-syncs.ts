import { syncDirectory, type FileOperations } from './durable.ts'

/** The sync of a folder that is in progress, and the one after it. */
interface FolderSync {
  readonly current: Promise<void>
  next?: Promise<void>
}

/**
 * Makes names in folders durable. Callers of the same folder share a sync: those that come while one is in progress
 * share the next one, because the current one may have begun before their change.
 */
export class FolderSyncs {
  readonly #files: FileOperations
  /** By the path of the folder, only while a sync is in progress. */
  readonly #folders = new Map<string, FolderSync>()

  constructor(files: FileOperations) {
    this.#files = files
  }

  /**
   * Makes every name durable that was in the folder when this was called. If the sync in progress fails, so does the
   * next one: the kernel reports each lost write only once.
   */
  sync(path: string): Promise<void> {
    const folder = this.#folders.get(path)
    if (folder === undefined) return this.#start(path)
    return (folder.next ??= folder.current.then(() => this.#start(path)))
  }

  #start(path: string): Promise<void> {
    const folder: FolderSync = { current: syncDirectory(this.#files, path) }
    this.#folders.set(path, folder)
    const forget = (): void => void this.#folders.delete(path)
    // Must not return the next sync: its failure is for its callers, and would end the process here.
    const forgetIfLast = (): void => {
      if (folder.next === undefined) forget()
    }
    folder.current.then(forgetIfLast, forget)
    return folder.current
  }
}
