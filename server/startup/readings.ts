import { X509Certificate } from 'node:crypto'
import { readFile, statfs } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import Type from '#typebox'
import { writePrivateFile } from '../../adapters/files/index.ts'
import { decorateAuthority, type Anchor, type AnchorFunds, type TimestampAuthority } from '../../adapters/kit/index.ts'
import { parseTimestampResponse, timestampCertificates } from '../../core/verify/tokens.ts'
import type { CompanyHealth } from '../contract/overview.ts'
import { many, one, type MetricRow, type MetricValues } from '../http/metrics.ts'
import { readShape } from '../../core/schemas/index.ts'

/** When the last backup of this data directory began. */
const BACKUP_FILE = 'last-backup.json'
const LastBackup = Type.Object({ startedAt: Type.Integer({ minimum: 0 }) })

/** Notes that a backup is complete, for `/metrics`. `startedAt`: ms since 1970. */
export const noteBackup = (dataDir: string, startedAt: number): Promise<void> =>
  writePrivateFile(join(resolve(dataDir), BACKUP_FILE), `${JSON.stringify({ startedAt })}\n`)

/** What the account of the anchor holds. */
type Funds = Awaited<ReturnType<AnchorFunds['read']>>

/** Nodes limit requests, and a balance changes with each anchor only. */
const FUNDS_INTERVAL_MS = 300_000

/** Metrics of what an operator must replenish or renew. What cannot be read is not shown. */
export class OperatorReadings {
  readonly #directory: string
  readonly #anchor: Anchor | undefined
  /** The last response of each authority, `undefined` before the first one. */
  readonly #stamps = new Map<TimestampAuthority, Uint8Array | undefined>()
  #funds: Funds | undefined
  #nextFundsAtMs = 0

  constructor(dataDir: string, anchor: Anchor | undefined) {
    this.#directory = resolve(dataDir)
    this.#anchor = anchor
  }

  /** An authority that does the same, and whose certificates are watched. */
  watch(authority: TimestampAuthority): TimestampAuthority {
    this.#stamps.set(authority, undefined)
    return decorateAuthority(authority, {
      stamp: async (bytes, signal) => {
        const response = await authority.stamp(bytes, signal)
        this.#stamps.set(authority, response)
        return response
      },
    })
  }

  metrics(): readonly MetricRow[] {
    const backup = 'When the last backup of this data directory began; 0 if there is none'
    return [
      one('last_backup_timestamp_seconds', backup, async () => (await this.#lastBackupAt()) / 1_000),
      many('disk_free_bytes', 'Free bytes of the file system, by folder', 'folder', () => this.#disks('freeBytes')),
      many('disk_size_bytes', 'Size of the file system, by folder', 'folder', () => this.#disks('sizeBytes')),
      many('certificate_expiry_timestamp_seconds', 'When the first certificate expires', 'authority', () =>
        [...this.#stamps].flatMap(([{ info }, response]) => expiryOf(info, response)),
      ),
      many('anchor_account_balance', 'Coins of the anchoring account', 'account', () => this.#account('coins')),
      many('anchor_account_anchors', 'Anchors that it can pay at the highest fee', 'account', () =>
        this.#account('anchors'),
      ),
    ]
  }

  /** What everyone with a key may see of them. */
  async forUsers(): Promise<Omit<CompanyHealth, 'health'>> {
    const [backupAt, volumes] = await Promise.all([this.#lastBackupAt(), this.#volumes()])
    const [fullest] = volumes.toSorted((a, b) => a.freeBytes / a.sizeBytes - b.freeBytes / b.sizeBytes)
    return {
      backup: backupAt > 0 ? { at: new Date(backupAt) } : {},
      ...(fullest && { disk: { freeBytes: fullest.freeBytes, sizeBytes: fullest.sizeBytes } }),
    }
  }

  async #lastBackupAt(): Promise<number> {
    const text = await readFile(join(this.#directory, BACKUP_FILE), 'utf8').catch(() => '')
    return readShape(LastBackup, text)?.startedAt ?? 0
  }

  async #disks(of: 'freeBytes' | 'sizeBytes'): Promise<MetricValues> {
    return (await this.#volumes()).map((volume) => [volume.folder, volume[of]])
  }

  /** Folders of the data directory can be volumes of their own. */
  async #volumes() {
    const read = ['.', 'records', 'blobs'].map(async (folder) => {
      const { bavail, blocks, bsize } = await statfs(join(this.#directory, folder))
      return { folder, freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
    })
    return (await Promise.allSettled(read)).flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  }

  /** Returns what was read last, so that a slow node does not delay the metrics. */
  #account(of: keyof Funds): MetricValues {
    const anchor = this.#anchor
    if (anchor === undefined || anchor.funds === null) return []
    if (performance.now() >= this.#nextFundsAtMs) {
      this.#nextFundsAtMs = performance.now() + FUNDS_INTERVAL_MS
      anchor.funds.read().then(
        (funds) => (this.#funds = funds),
        () => undefined,
      )
    }
    return this.#funds === undefined ? [] : [[anchor.info.account ?? '', this.#funds[of]]]
  }
}

/** When the first certificate of the newest token expires; before a token, when the last trust anchor does. */
function expiryOf(
  { name, label = name, trustAnchors }: TimestampAuthority['info'],
  response: Uint8Array | undefined,
): MetricValues {
  const expiries = (certificates: readonly Uint8Array[]): number[] =>
    certificates.map((der) => Date.parse(new X509Certificate(der).validTo) / 1_000)
  try {
    if (response === undefined) return [[label, Math.max(...expiries(trustAnchors))]]
    const digest = parseTimestampResponse(response).imprint
    return [[label, Math.min(...expiries(timestampCertificates(response, { digest, trustAnchors })))]]
  } catch {
    return []
  }
}
