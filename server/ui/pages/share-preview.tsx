import { Icon } from '../components/icon.tsx'
import { Thumb } from '../components/thumb.tsx'
import { Facts } from '../components/values.tsx'
import { formatDate } from '../format.ts'
import * as texts from '../texts/index.ts'
import type { Choice, Shareable } from './share-choices.ts'

interface SharePreviewProps {
  readonly shareable: Shareable
  readonly choices: readonly Choice[]
  readonly chosen: readonly Choice[]
}

/** What a stranger will see of the thing. */
export function SharePreview({ shareable: { evidence, events, files }, choices, chosen }: SharePreviewProps) {
  const t = texts.share
  const isOn = (key: string): boolean => chosen.some((choice) => choice.key === key)
  const cover = files.find(({ overlayId }) => overlayId === evidence.imageId)
  const isStolen = evidence.status === 'stolen'
  return (
    <section class="preview" aria-label={t.preview}>
      <h3>{t.preview}</h3>
      <div class="card flush">
        {cover && isOn('cover') && (
          <Thumb file={{ id: cover.overlayId, mimeType: cover.mimeType }} width={640} class="photo" />
        )}
        <div class="stack">
          <h4>{isOn('name') ? <bdi>{evidence.name}</bdi> : <Hidden />}</h4>
          <p class={`flex ${isStolen ? 'is-stolen' : ''}`}>
            <Icon name={isStolen ? 'warning' : 'tick'} />
            <span>
              <b>{isStolen ? texts.evidence.updateNames.stolen : texts.certificate.notStolen}</b>
              <br />
              <span class="small muted">{t.history(events.length, formatDate(evidence.createDate))}</span>
            </span>
          </p>
          <Facts
            of={choices
              .filter(({ key }) => key !== 'name' && key !== 'cover')
              .map((choice) => [choice.title, isOn(choice.key) ? <Values of={choice.values} /> : <Hidden />] as const)}
          />
        </div>
      </div>
    </section>
  )
}

const Values = ({ of: values }: { readonly of: readonly string[] }) => (
  <ul>
    {values.map((value) => (
      <li key={value}>
        <bdi>{value}</bdi>
      </li>
    ))}
  </ul>
)

const Hidden = () => (
  <span class="flex muted">
    <Icon name="hidden" />
    {texts.share.hidden}
  </span>
)
