import { Icon } from '../components/icon.tsx'
import { Card } from '../components/notice.tsx'
import { useEvery, useLoad } from '../components/use-load.ts'
import { Time } from '../components/values.tsx'
import { publicClient } from '../session.ts'
import * as texts from '../texts/index.ts'

const REFRESH_MS = 10_000

/** What each witness of the log has cosigned last, and its alarm. Shows nothing for a log without witnesses. */
export function WitnessesCard() {
  const t = texts.log
  const { loaded, refresh } = useLoad((signal) => publicClient.listWitnesses({}, { signal }), [])
  useEvery(REFRESH_MS, refresh)
  if (loaded.state !== 'done' || loaded.value.witnesses.length === 0) return null
  return (
    <Card title={t.witnesses} aside={t.witnessesNote}>
      <ul class="lines">
        {loaded.value.witnesses.map(({ name, treeSize, cosignedAt, alarm }) => {
          const isWell = alarm === undefined && cosignedAt !== undefined
          return (
            <li key={name}>
              <span class={`sign ${isWell ? 'proven' : alarm ? 'stolen' : ''}`}>
                <Icon name={isWell ? 'tick' : alarm ? 'warning' : 'dash'} />
              </span>
              <div class="text">
                <b>{name}</b>
                <p class="small muted">{cosignedAt ? t.cosigned(treeSize) : t.notCosigned}</p>
                {alarm && <p class="small">{t.alarms[alarm]}</p>}
                {alarm === 'WITNESS_OTHER_HISTORY' && <code class="key">{t.resume(name)}</code>}
              </div>
              <span class="small muted">{cosignedAt && <Time at={cosignedAt} isAge />}</span>
            </li>
          )
        })}
      </ul>
    </Card>
  )
}
