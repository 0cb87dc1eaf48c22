import { useState } from 'preact/hooks'
import type { BundleEventClaims } from '../../../core/verify/index.ts'
import { Card } from '../components/notice.tsx'
import { LongText } from '../components/values.tsx'
import { actionOf } from '../event-names.ts'
import { formatUtc, formatUtcTime } from '../format.ts'
import * as texts from '../texts/index.ts'
import { EventName } from './certificate-content.tsx'
import { EventSign } from './timeline.tsx'

/** A history may have 10,000 events, which a page cannot show at once. */
const EVENTS_AT_ONCE = 100

/** The events as they were verified, newest first, with the times that they state. */
export function PassportHistory({ events }: { readonly events: readonly BundleEventClaims[] }) {
  const [count, setCount] = useState(EVENTS_AT_ONCE)
  return (
    <Card
      title={texts.evidence.history}
      aside={`${texts.evidences.eventCount(events.length)}, ${texts.evidence.newestFirst}`}
    >
      <ol class="timeline">
        {events
          .slice(-count)
          .toReversed()
          .map((event) => (
            <PassportEvent key={event.txId} event={event} />
          ))}
      </ol>
      {count < events.length && <button onClick={() => setCount(count + EVENTS_AT_ONCE)}>{texts.more}</button>}
      <p class="small muted">{texts.passport.laterEvents}</p>
    </Card>
  )
}

/** One event. Of one that the link does not show, only the number and the time. */
function PassportEvent({ event: { fields, version, committedTime, log } }: { readonly event: BundleEventClaims }) {
  const utc = formatUtc(committedTime)
  const action = actionOf(fields)
  return (
    <li>
      <EventSign {...(action ?? { type: '', status: undefined })} />
      <h3>{action ? <EventName fields={fields} /> : texts.verify.event(version, texts.passport.notShown)}</h3>
      <p class="small muted">
        <time dateTime={utc} title={utc}>
          {formatUtcTime(committedTime)}
        </time>
        {log === undefined && ` · ${texts.evidence.sendStatus.null.short}`}
      </p>
      {[fields.get('updateDescription'), fields.get('eventDescription')].map(
        (said) => typeof said === 'string' && said !== '' && <LongText key={said} text={said} />,
      )}
    </li>
  )
}
