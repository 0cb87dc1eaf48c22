import { useState } from 'preact/hooks'
import { hrefOf } from '../router.ts'
import { hasLevel, isOperator, type Session } from '../session.ts'
import * as texts from '../texts/index.ts'
import { Icon, type IconName } from './icon.tsx'

interface Entry {
  readonly name: string
  readonly text: string
  readonly icon: IconName
  /** On a phone it is behind "More". */
  readonly isWide?: boolean
}

/** Links to the pages. Those that the key cannot use are left out. */
function entriesOf(session: Session | undefined): readonly Entry[] {
  const t = texts.nav
  if (session === undefined)
    return [
      { name: 'log', text: t.log, icon: 'log' },
      { name: 'verify', text: t.verify, icon: 'verify' },
    ]
  return [
    { name: 'overview', text: texts.overview.title, icon: 'overview' },
    { name: 'evidences', text: texts.evidences.title, icon: 'evidences' },
    { name: 'categories', text: texts.categories.title, icon: 'tag', isWide: true },
    { name: 'log', text: t.log, icon: 'log', isWide: true },
    { name: 'verify', text: t.verify, icon: 'verify' },
    ...(hasLevel(session, 'A')
      ? [{ name: 'source-systems', text: t.sourceSystems, icon: 'key', isWide: true } as const]
      : []),
    ...(isOperator(session)
      ? [{ name: 'sign-in', text: t.switchCompany, icon: 'transfer', isWide: true } as const]
      : []),
  ]
}

/** Leads to the form of a new evidence. On a phone the bar below does. */
export const NewEvidenceLink = ({ session }: { readonly session: Session }) =>
  hasLevel(session, 'I') && (
    <a class="button primary wide-only" href={hrefOf(['new-evidence'])}>
      <Icon name="plus" />
      {texts.evidences.create} <kbd>c</kbd>
    </a>
  )

/** The side bar, and on a phone the bar below. */
export function Navigation({ page, session }: { readonly page: string; readonly session: Session | undefined }) {
  const t = texts.nav
  const [isMore, setMore] = useState(false)
  const wide = isMore ? '' : 'wide-only'
  return (
    <nav class="nav" aria-label={t.label}>
      <ul onClick={() => setMore(false)}>
        {entriesOf(session).map(({ name, text, icon, isWide = false }) => (
          <li key={name} class={isWide ? wide : undefined}>
            <a class="quiet hover" href={hrefOf([name])} {...(name === page && { 'aria-current': 'page' })}>
              <Icon name={icon} />
              {text}
            </a>
          </li>
        ))}
        {session && hasLevel(session, 'I') && (
          <li class="phone-only">
            <a class="quiet hover create" href={hrefOf(['new-evidence'])}>
              <Icon name="plus" />
              {t.create}
            </a>
          </li>
        )}
        <li class={session && wide}>
          <a class="quiet hover" href="../docs">
            <Icon name="api" />
            {t.api}
          </a>
        </li>
      </ul>
      {session && (
        <button class="plain more phone-only" aria-expanded={isMore} onClick={() => setMore(!isMore)}>
          <Icon name="more" />
          {t.more}
        </button>
      )}
    </nav>
  )
}
