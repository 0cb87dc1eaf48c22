import type { Overview } from '../../client/index.ts'
import { Icon } from '../components/icon.tsx'
import { Card } from '../components/notice.tsx'
import { authorityName, Badge, Time } from '../components/values.tsx'
import { formatBytes } from '../format.ts'
import * as texts from '../texts/index.ts'
import { useVouchers } from './use-vouchers.ts'

const STATES = { ok: { tone: 'proven', icon: 'tick' }, degraded: { tone: 'pending', icon: 'warning' } } as const
const UNKNOWN = { tone: '', icon: 'dash' } as const

/** A part of the registry: what it says, when it last worked, and whether all is well, if that is known. */
type Part = readonly [name: string, text: string, at?: string | number | undefined, isWell?: boolean | undefined]

interface HealthProps {
  readonly overview: Overview
  readonly readAt: number
}

/**
 * The parts of the registry, and when each last worked. The service says of those of the log whether all work, not
 * which one does not.
 */
export function Health({ overview, readAt }: HealthProps) {
  const t = texts.health
  const { log, health, dts } = overview
  const { recorded, sealed, stamped, anchored } = log
  const vouchers = useVouchers()
  const noStamp = vouchers?.hasAuthority === false ? t.noAuthority : t.notYet
  const noAnchor = vouchers?.hasChain === false ? t.noChain : t.notYet
  const ofLog: readonly Part[] = [
    [t.recording, t.entries(recorded.size), dts[0]?.lastUpdateDate],
    [t.sealing, t.waiting(recorded.size - sealed.size), sealed.at],
    [t.stamping, stamped.authority ? authorityName(stamped.authority) : noStamp, stamped.at],
    [t.anchoring, anchored.size > 0 ? t.waiting(anchored.waiting) : noAnchor, anchored.at],
  ]
  const parts: readonly Part[] = [
    ...ofLog.map(([name, text, at]) => [name, text, at, health === 'ok' && at ? true : undefined] as const),
    backupOf(overview, readAt),
    diskOf(overview, readAt),
  ]
  return (
    <Card title={t.title} aside={<Badge {...STATES[health]}>{t.healths[health]}</Badge>}>
      {health === 'degraded' && <p class="small muted">{t.degraded}</p>}
      <ul class="lines">
        {parts.map(([name, text, at, isWell]) => {
          const { tone, icon } = isWell === undefined ? UNKNOWN : STATES[isWell ? 'ok' : 'degraded']
          return (
            <li key={name}>
              <span class={`sign ${tone}`}>
                <Icon name={icon} />
              </span>
              <div class="text">
                <b>{name}</b>
                <p class="small muted">{text}</p>
              </div>
              <span class="small muted">{at && <Time at={at} isAge />}</span>
            </li>
          )
        })}
      </ul>
    </Card>
  )
}

/** As the alert `EvidenceBackupOld`: one a day, and two hours for it. */
const MAX_BACKUP_AGE_MS = 26 * 3_600_000

function backupOf({ backup }: Overview, now: number): Part {
  const t = texts.health
  if (backup === undefined) return [t.backup, t.notSeen]
  if (backup.at === undefined) return [t.backup, t.noBackup, undefined, false]
  const isNew = now - Date.parse(backup.at) < MAX_BACKUP_AGE_MS
  return [t.backup, isNew ? t.backedUp : t.oldBackup, backup.at, isNew]
}

/** As the alert `EvidenceDiskFilling`. */
const MIN_FREE = 0.1

function diskOf({ disk }: Overview, readAt: number): Part {
  const t = texts.health
  if (disk === undefined) return [t.disk, t.notSeen]
  const [share, free] = [disk.freeBytes / disk.sizeBytes, formatBytes(disk.freeBytes)]
  return [t.disk, share < MIN_FREE ? t.diskLow(free) : t.diskUse(1 - share, free), readAt, share >= MIN_FREE]
}
