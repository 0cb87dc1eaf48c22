import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { AnotherKey } from './components/another-key.tsx'
import { OpenDialog } from './components/dialog.tsx'
import { Mark } from './components/icon.tsx'
import { Failure, Skeleton, WhenLoaded } from './components/notice.tsx'
import { Navigation } from './components/navigation.tsx'
import { useLoad } from './components/use-load.ts'
import { Shortcuts } from './components/shortcuts.tsx'
import { Toast } from './components/toast.tsx'
import { AgeClock } from './components/values.tsx'
import { CategoriesPage } from './pages/categories.tsx'
import { EvidencePage } from './pages/evidence.tsx'
import { EvidencesPage } from './pages/evidences.tsx'
import { LogPage } from './pages/log.tsx'
import { NewEvidencePage } from './pages/new-evidence.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { SignInPage } from './pages/sign-in.tsx'
import { SourceSystemsPage } from './pages/source-systems.tsx'
import { StatusPage } from './pages/status.tsx'
import { isUnauthorized } from './failure.ts'
import { hrefOf, mayLeave, useLocation, type Location } from './router.ts'
import { endedClient, forget, publicClient, remembered, signIn, type Session } from './session.ts'
import { SessionContext } from './session-context.ts'
import { useSessionOfTabs } from './tabs.ts'
import * as texts from './texts/index.ts'

/** Of the package: `vite.config.mjs` puts it here. */
declare const VERSION: string

/** The whole dashboard: the frame, and the page of the current location. */
export function App() {
  const location = useLocation()
  const [session, setSession] = useState<Session>()
  const [isRestoring, setRestoring] = useState(() => remembered() !== undefined)
  const [error, setError] = useState<unknown>()
  const ended = endedClient.use()
  /** Signs in with the remembered key, or that of another tab. Only a key that the service rejects is forgotten. */
  const restore = async (credentials = remembered()): Promise<void> => {
    if (credentials === undefined) return
    setRestoring(true)
    setError(undefined)
    try {
      setSession(await signIn(credentials))
    } catch (failure) {
      if (isUnauthorized(failure)) forget()
      else setError(failure)
    } finally {
      setRestoring(false)
    }
  }
  useEffect(() => void restore(), [])
  const changeSession = (next: Session | undefined): void => {
    setError(undefined)
    setSession(next)
  }
  const leave = (): void => {
    forget()
    changeSession(undefined)
  }
  const leaveOthers = useSessionOfTabs(session, { take: (credentials) => void restore(credentials), signOut: leave })
  const signOut = (): void => {
    if (!mayLeave()) return
    leave()
    leaveOthers()
  }
  return (
    <SessionContext.Provider value={session}>
      <AgeClock>
        <Frame location={location} session={session} onSignOut={signOut}>
          {error !== undefined && <Failure error={error} retry={() => globalThis.location.reload()} />}
          {isRestoring ? <Skeleton /> : <Page location={location} session={session} setSession={changeSession} />}
          <Toast />
        </Frame>
        {session && session.client === ended && (
          <AnotherKey session={session} onSession={changeSession} onSignOut={signOut} />
        )}
      </AgeClock>
    </SessionContext.Provider>
  )
}

const loadVerifyPage = async () => ({
  ...(await import('./pages/verify.tsx')),
  ...(await import('./pages/verify-in-worker.ts')),
})

const loadPassportPage = async () => ({
  ...(await import('./pages/passport.tsx')),
  ...(await import('./pages/verify-in-worker.ts')),
})

interface PageProps {
  readonly location: Location
  readonly session: Session | undefined
  readonly setSession: (session: Session) => void
}

/** The page of a location. Pages that need a key show the sign-in page first, and then continue. */
function Page({ location: { path, query }, session, setSession }: PageProps) {
  const [name = 'overview', id, action] = path
  if (name === 'verify')
    return (
      <Later key="verify" title={texts.verify.title} load={loadVerifyPage}>
        {({ VerifyPage, verifyInWorker: verify }) => (
          <VerifyPage key={id} verify={verify} client={publicClient} evidenceId={id} session={session} />
        )}
      </Later>
    )
  if (name === 'p')
    return (
      <Later key="passport" title={texts.passport.checking} load={loadPassportPage}>
        {({ PassportPage, verifyInWorker: verify }) => <PassportPage key={id} link={id ?? ''} verify={verify} />}
      </Later>
    )
  if (name === 'certificate' && id !== undefined)
    return (
      <Later key="certificate" title={texts.evidence.certificate} load={() => import('./pages/certificate.tsx')}>
        {({ CertificatePage }) => <CertificatePage key={id} evidenceId={id} externalId={action} />}
      </Later>
    )
  if (name === 'status' && id !== undefined) return <StatusPage key={id} companyId={id} />
  if (name === 'log') return <LogPage txId={id} />
  // A link with a company fills it in, also if the sign-in page is open already.
  const companyId = query.get('company') ?? ''
  if (session === undefined || name === 'sign-in')
    return <SignInPage key={companyId} companyId={companyId} isPage={name === 'sign-in'} onSignIn={setSession} />
  if (name === 'overview') return <OverviewPage onSession={setSession} />
  if (name === 'source-systems') return <SourceSystemsPage />
  if (name === 'categories') return <CategoriesPage />
  if (name === 'new-evidence') return <NewEvidencePage />
  if (name === 'import')
    return (
      <Later key="import" title={texts.import.title} load={() => import('./pages/import.tsx')}>
        {({ ImportPage }) => <ImportPage />}
      </Later>
    )
  if (name !== 'evidences') return <NotFound />
  return id === undefined ? <EvidencesPage query={query} /> : <EvidencePage key={id} externalId={id} />
}

interface LaterProps<T> {
  readonly title: string
  readonly load: () => Promise<T>
  readonly children: (module: T) => ComponentChildren
}

/** A page with the verifier, which is as large as all other pages together, so it is loaded when it is opened. */
const Later = <T,>({ title, load, children }: LaterProps<T>) => (
  <WhenLoaded of={useLoad(load, [])} title={title}>
    {children}
  </WhenLoaded>
)

/** A wrong address, for example an old bookmark. */
function NotFound() {
  return (
    <>
      <h1>{texts.notFoundPage}</h1>
      <a href={hrefOf(['evidences'])}>{texts.goHome}</a>
    </>
  )
}

interface FrameProps {
  readonly location: Location
  readonly session: Session | undefined
  readonly onSignOut: () => void
  readonly children: ComponentChildren
}

/** What is around every page: the name, the navigation, and who is signed in. */
function Frame({ location, session, onSignOut, children }: FrameProps) {
  const main = useRef<HTMLElement>(null)
  const page = location.path.join('/')
  // After a change of the page, screen readers and the keyboard continue at its heading. A layout effect, so that a key
  // that is pressed as soon as the page is visible starts there.
  const isFirst = useRef(true)
  useLayoutEffect(() => {
    if (!isFirst.current) main.current?.focus()
    isFirst.current = false
  }, [page])
  useTitle(main, page)
  const focusMain = (event: Event): void => {
    event.preventDefault()
    main.current?.focus()
  }
  const brand = (
    <a class="flex quiet brand" href={hrefOf([])} aria-label={texts.product}>
      <Mark />
      <span>{texts.product}</span>
    </a>
  )
  const name = location.path[0] ?? 'overview'
  const content = (
    <main id="main" ref={main} tabIndex={-1} class={name === 'verify' || name === 'p' ? 'bleed' : undefined}>
      {children}
      <footer class="foot small muted no-print">
        {texts.product} {VERSION} · <a href="licenses.txt">{texts.licenses}</a>
        {session && <Shortcuts session={session} />}
      </footer>
    </main>
  )
  return (
    <>
      {/* The fragment of the address is the page, so the link moves the focus by script. */}
      <a class="skip-link" href="#main" onClick={focusMain}>
        {texts.skip}
      </a>
      {session === undefined ? (
        <>
          <header class="flex public no-print">
            {brand}
            <PublicLinks page={name} />
          </header>
          {content}
        </>
      ) : (
        <div class={`shell ${name === 'evidences' && location.path.length > 1 ? 'has-bar' : ''}`}>
          <header class="column side no-print">
            {brand}
            <Navigation page={name} session={session} />
            <Account session={session} onSignOut={onSignOut} />
          </header>
          {content}
        </div>
      )}
      <OpenDialog page={page} />
    </>
  )
}

/** Who opened a link came for the thing, and must see whose page it is. */
const PublicLinks = ({ page }: { readonly page: string }) =>
  page === 'p' || page === 'status' ? (
    <span class="end small muted">{location.host}</span>
  ) : (
    <>
      <Navigation page={page} session={undefined} />
      <a href={hrefOf(['sign-in'])}>{texts.nav.signIn}</a>
    </>
  )

/** The title of the window is the heading of the page, also of one that loads later. */
function useTitle(main: { readonly current: HTMLElement | null }, page: string): void {
  useEffect(() => {
    const update = (): void => {
      const heading = main.current?.querySelector('h1')?.textContent
      document.title = heading ? `${heading} · ${texts.product}` : texts.product
    }
    update()
    const observer = new MutationObserver(update)
    if (main.current) observer.observe(main.current, { childList: true, subtree: true, characterData: true })
    return () => observer.disconnect()
  }, [page])
}

/** Who is signed in. */
const Account = ({ session, onSignOut }: { readonly session: Session; readonly onSignOut: () => void }) => (
  <div class="account small">
    <b class="cut">{session.companyId}</b>
    <span class="muted cut">
      {session.system.name} · {texts.levels[session.system.permissions]}
    </span>
    <button class="link" onClick={onSignOut}>
      {texts.nav.signOut}
    </button>
  </div>
)
