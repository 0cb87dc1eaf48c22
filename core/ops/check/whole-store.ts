import { logKeys } from '../../log/keys.ts'
import type { SignedHead, Stored } from '../../ports/index.ts'
import { checkAnchors } from './anchors.ts'
import type { AttestationVerifier } from './attestation-verifier.ts'
import type { Check } from './check.ts'
import { checkCheckpoints } from './checkpoints.ts'
import { checkCosignatures } from './cosignatures.ts'
import type { Family } from './families.ts'
import { HistoriesCheck } from './history.ts'
import type { CheckedIdentity } from './identity.ts'
import { ListCheck } from './lists.ts'
import type { LogPage } from './log-page.ts'
import { checkReferences } from './references.ts'
import { checkStamps, checkValidationData } from './stamps.ts'
import { TreeCheck } from './tree.ts'

/** What the whole store is compared with. */
export interface WholeStoreOptions {
  readonly identity: CheckedIdentity | undefined
  readonly signedHeads: readonly SignedHead[]
  readonly verifier: AttestationVerifier | undefined
}

/**
 * How all records of a store belong together. Takes the pages of a walk from its beginning to its end. The store must
 * not be written to meanwhile.
 */
export class WholeStore {
  readonly histories: HistoriesCheck
  readonly #check: Check
  readonly #options: WholeStoreOptions
  readonly #lists: ListCheck
  /** `undefined` behind leaves that cannot be read. */
  #tree: TreeCheck | undefined
  /** How many entries of the log belong to tokens; `undefined` if not all entries can be read. */
  #tokenEntries: number | undefined = 0

  constructor(check: Check, options: WholeStoreOptions) {
    this.#check = check
    this.#options = options
    // Without an identity, nothing is repaired.
    this.#lists = new ListCheck(check, options.identity?.hash ?? (() => ''))
    this.#tree = new TreeCheck(check, options.signedHeads)
    this.histories = new HistoriesCheck(check)
  }

  /** Behind a page that cannot be added, nothing is known of the tree. */
  async addLog(page: LogPage): Promise<void> {
    const { start, entries, leaves, tokenEntries } = page
    if (entries === undefined) this.#tokenEntries = undefined
    else if (this.#tokenEntries !== undefined) this.#tokenEntries += tokenEntries
    const tree = leaves && this.#tree
    this.#tree = await this.#check.runPart(`log/${start}`, async () => {
      await tree?.add(page)
      return tree
    })
  }

  /** Records of one family. */
  async addRecords(family: Family, page: readonly Stored[]): Promise<void> {
    await checkReferences(this.#check, family, page)
    await this.#lists.add(family, page)
    const { gte } = family.range
    if (gte === logKeys.checkpoints().gte) await checkCheckpoints(this.#check, this.#options.identity?.keys, page)
    if (gte === logKeys.cosignedFrom(0).gte) await checkCosignatures(this.#check, this.#options.verifier?.mlDsa44, page)
    if (gte === logKeys.allValidationData().gte) checkValidationData(this.#check, page)
  }

  async finish(): Promise<void> {
    const check = this.#check
    const { verifier } = this.#options
    await check.runPart('log', () => this.#finishLog())
    await check.runPart('stamps', () => checkStamps(check, this.#tokenEntries, verifier))
    await check.runPart('anchors', () => checkAnchors(check, verifier))
    this.histories.finish()
    await check.runPart('indexes', () => this.#lists.finish())
  }

  async #finishLog(): Promise<void> {
    const key = logKeys.treeHead()
    const head = await this.#check.read('head', key)
    const [logSize, size] = [await this.#check.records.logSize(), head?.size ?? 0]
    this.#check.expect(size <= logSize, 'head', key, 'More entries are sealed than the log has')
    await this.#tree?.finish(head)
    const sealed = Math.min(size, logSize)
    for (const signed of this.#options.signedHeads) {
      const message = `A checkpoint of ${signed.size} entries was signed, but only ${sealed} are sealed`
      this.#check.expect(signed.size <= sealed, 'head', 'signed head', message)
    }
  }
}
