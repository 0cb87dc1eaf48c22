import type { Overview } from '../../client/index.ts'
import { Icon } from '../components/icon.tsx'
import { Card } from '../components/notice.tsx'
import { authorityName, Badge, Time } from '../components/values.tsx'
import { texts } from '../texts.ts'
import { useVouchers } from './use-vouchers.ts'

const HEALTH = { ok: { tone: 'proven', icon: 'tick' }, degraded: { tone: 'pending', icon: 'warning' } } as const

/** The parts of the registry, and when each last worked. The service says whether all work, not which one does not. */
export function Health({ overview: { log, health, dts } }: { readonly overview: Overview }) {
  const t = texts.health
  const { recorded, sealed, stamped, anchored } = log
  const vouchers = useVouchers()
  const noStamp = vouchers?.hasAuthority === false ? t.noAuthority : t.notYet
  const noAnchor = vouchers?.hasChain === false ? t.noChain : t.notYet
  const parts = [
    [t.recording, t.entries(recorded.size), dts[0]?.lastUpdateDate],
    [t.sealing, t.waiting(recorded.size - sealed.size), sealed.at],
    [t.stamping, stamped.authority ? authorityName(stamped.authority) : noStamp, stamped.at],
    [t.anchoring, anchored.size > 0 ? t.waiting(sealed.size - anchored.size) : noAnchor, anchored.at],
    [t.backup, t.notSeen],
    [t.disk, t.notSeen],
  ] as const
  return (
    <Card title={t.title} aside={<Badge {...HEALTH[health]}>{t.healths[health]}</Badge>}>
      {health === 'degraded' && <p class="small muted">{t.degraded}</p>}
      <ul class="lines">
        {parts.map(([name, text, at]) => {
          const isWell = health === 'ok' && at !== undefined
          return (
            <li key={name}>
              <span class={`sign ${isWell ? 'proven' : ''}`}>
                <Icon name={isWell ? 'tick' : 'dash'} />
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
